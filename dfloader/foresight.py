"""Which batch comes next, where batches are asked for one at a time.

Keras on torch or JAX, and tf_keras, ask for batch after batch from one loop: in order, or in one
that Python's `random` shuffled just after they asked how many there are. Whoever copies the random
state at that moment knows the order. A wrong guess costs time only.
"""

import random
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from dfloader.batch import Loaded

Submit = Callable[[int], "Future[Loaded]"]


class Foresight:
    """Has batches loaded that will be asked for."""

    def __init__(self) -> None:
        self._random: object = None
        self._last = -1
        self._order: deque[int] = deque()
        self._waiting: dict[int, Future[Loaded]] = {}
        self._lock = threading.Lock()

    def asked_how_many(self) -> None:
        """Note that an order may be made now."""
        self._random = random.getstate()

    def take(self, i: int, submit: Submit, *, count: int, depth: int) -> "Future[Loaded]":
        """Give batch `i`, and have those loaded that seem to follow.

        Args:
            submit: has a batch loaded.
            count: batches in a pass.
            depth: batches in work or waiting, at most.
        """
        with self._lock:
            future = self._waiting.pop(i, None)
            if future is None:
                self._forget()
                future = submit(i)
                self._order = deque(self._guess(i, count))
            self._last = i
            while self._order and len(self._waiting) < depth:
                following = self._order.popleft()
                self._waiting[following] = submit(following)
            return future

    def forget(self) -> None:
        """Give up what nobody has asked for yet: another epoch begins."""
        with self._lock:
            self._forget()
            self._last = -1

    def _forget(self) -> None:
        for future in self._waiting.values():
            future.cancel()
        self._waiting.clear()
        self._order.clear()

    def _guess(self, i: int, count: int) -> list[int]:
        if self._random is not None:
            shuffled = list(range(count))
            copy = random.Random()
            copy.setstate(self._random)  # type: ignore[arg-type]
            copy.shuffle(shuffled)
            if shuffled[0] == i:
                return shuffled[1:]
        return list(range(i + 1, count)) if i == self._last + 1 > 0 else []
