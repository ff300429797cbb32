"""Where a sequence is: the epoch, and the next batch of the running pass.

How Keras 3 calls, as far as it matters (`E` on_epoch_end, `B` on_epoch_begin, `n` num_batches,
`i` a batch): ``n i i n E``, then ``B i i i ... E`` an epoch. The first E belongs to no epoch:
`EpochIterator.reset` looks at the number of batches and calls it at once. Keras' threads read
batches before B, so that B is too late to put an epoch right that the first E has moved.

1. An E moves to the next epoch, whoever calls it,
2. but not where nobody has begun an epoch and the last thing that happened was that look.
"""


class Position:
    """Counts epochs, and the batches that a pass has given."""

    def __init__(self) -> None:
        self.epoch = 0
        self.batch = 0
        self._start = 0  # of the next pass
        self._begun = False
        self._looked = False

    def move(self, epoch: int, batch: int = 0) -> None:
        """Go to a batch of an epoch."""
        if epoch < 0:
            raise ValueError(f"epoch={epoch!r}: epochs count from 0.")
        self.epoch = epoch
        self.batch = self._start = batch

    def looked_at(self) -> None:
        """Note that the number of batches was read."""
        self._looked = True

    def read(self) -> None:
        """Note that a batch was read."""
        self._looked = False

    def begin(self) -> None:
        """Note that Keras begins an epoch."""
        self._begun = True

    def end(self) -> None:
        """Go to the next epoch, unless this is Keras' call before the first."""
        if self._begun or not self._looked:
            self.move(self.epoch + 1)
        self._begun = self._looked = False

    def start(self) -> int:
        """Begin a pass; give its first batch: 0, except right after `move` to another."""
        self.batch, self._start = self._start, 0
        return self.batch

    def gave(self, epoch: int, batch: int) -> None:
        """Note that a pass over an epoch has given a batch away."""
        if epoch == self.epoch:
            self.batch = batch + 1
