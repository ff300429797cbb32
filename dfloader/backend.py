"""Which Keras is in use, asked once.

``TF_USE_LEGACY_KERAS=1`` (read as TensorFlow reads it) means tf_keras, anything else Keras 3.
Importing this module imports that Keras; only the fronts may.
"""

import inspect
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

_NO_EPOCH = (
    ("trainers.epoch_iterator", "reset"),
    ("utils.data_utils", "_run"),
    ("data_adapters.py_dataset_adapter", "_run"),
)

LEGACY = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def _import_keras() -> Any:
    if not LEGACY:
        return import_module("keras")
    try:
        return import_module("tf_keras")
    except ModuleNotFoundError as error:
        if error.name != "tf_keras":
            raise
        raise ImportError(
            "TF_USE_LEGACY_KERAS asks for tf_keras, which is not installed: "
            'pip install "dfloader[legacy]", or unset the variable to use Keras 3.'
        ) from error


keras: Any = _import_keras()
# Whether Keras' threads shall ask for batches ahead. On torch and JAX they give what they have read
# to learn shapes once more in the epoch; before Keras 3.7 they hang, or wait 5 s, at its end.
ASKS_AHEAD = (
    not LEGACY
    and keras.backend.backend() == "tensorflow"
    and tuple(int(part) for part in keras.__version__.split(".")[:2]) >= (3, 7)
)


def ends_no_epoch() -> bool:
    """Whether Keras calls ``on_epoch_end`` once too often.

    Two do: Keras 3's ``EpochIterator.reset``, before the first epoch, and the thread with which
    the ``OrderedEnqueuer`` of tf_keras and of early Keras 3 reads ahead, if it wins a race with the
    training loop, which ends the epoch in any case. What they call is told apart by nothing but
    the caller: Keras may begin an epoch only to learn shapes, and its threads read batches before
    it begins one.
    """
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if any(name.endswith(m) and frame.f_code.co_name == f for m, f in _NO_EPOCH):
            return True
        frame = frame.f_back
    return False


if TYPE_CHECKING:

    class Sequence:
        """What mypy sees of the base class below; Keras ships no types."""

        workers: int
        use_multiprocessing: bool
        max_queue_size: int

        def __init__(
            self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
        ) -> None: ...
        def on_epoch_begin(self) -> None: ...
        def on_epoch_end(self) -> None: ...

else:
    # keras.utils.PyDataset, or tf_keras.utils.Sequence, whose constructor takes no arguments.
    Sequence = keras.utils.Sequence if LEGACY else keras.utils.PyDataset
