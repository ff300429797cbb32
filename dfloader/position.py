"""Where a sequence is: the epoch, and the next batch of the running pass."""


class Position:
    """Counts epochs, and the batches that a pass has given."""

    def __init__(self) -> None:
        self.epoch = 0
        self.batch = 0
        self._start = 0  # of the next pass

    def move(self, epoch: int, batch: int = 0) -> None:
        """Go to a batch of an epoch."""
        if epoch < 0:
            raise ValueError(f"epoch={epoch!r}: epochs count from 0.")
        self.epoch = epoch
        self.batch = self._start = batch

    def start(self) -> int:
        """Begin a pass; give its first batch: 0, except right after `move` to another."""
        self.batch, self._start = self._start, 0
        return self.batch

    def gave(self, epoch: int, batch: int) -> None:
        """Note that a pass over an epoch has given a batch away."""
        if epoch == self.epoch:
            self.batch = batch + 1
