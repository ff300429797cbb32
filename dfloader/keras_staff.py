"""What Keras may know of who does the work. Imports Keras.

Keras reads `workers`, `use_multiprocessing` and `max_queue_size` of a sequence, and starts threads
and processes as they say. The work is done by our own; Keras' threads only wait for it.
"""

from abc import abstractmethod
from dataclasses import replace

from dfloader.backend import ASKS_AHEAD, Sequence
from dfloader.workers import Staff


class Staffed(Sequence):
    """A sequence that has a staff of its own."""

    _staff: Staff

    @abstractmethod
    def close(self) -> None:
        """Stop the workers."""

    @property
    def staff(self) -> Staff:
        """What was said of workers; the next three are what Keras shall know of it."""
        return self._staff

    @staff.setter
    def staff(self, value: Staff) -> None:
        if value != self._staff:
            self.close()
            self._staff = value

    @property
    def workers(self) -> int:
        """How many threads Keras shall have ask for batches and wait for them.

        At least 2, or 0: with one Keras reads the sequence through a tf.data prefetch, which holds
        every epoch up at its end (TensorFlow's autotuner sleeps). None, which is 1, where Keras'
        threads are of no good.
        """
        least, most = (2, None) if ASKS_AHEAD else (1, 1)
        return self._staff.workers and max(least, most or self._staff.workers)

    @workers.setter
    def workers(self, value: int) -> None:
        self.staff = replace(self._staff, workers=value)

    @property
    def use_multiprocessing(self) -> bool:
        """Always False: Keras must not start processes of its own around ours."""
        return False

    @use_multiprocessing.setter
    def use_multiprocessing(self, value: bool) -> None:
        self.staff = replace(self._staff, use_multiprocessing=value)

    @property
    def max_queue_size(self) -> int:
        return self._staff.max_queue_size

    @max_queue_size.setter
    def max_queue_size(self, value: int) -> None:
        self.staff = replace(self._staff, max_queue_size=value)
