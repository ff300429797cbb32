"""Which Keras is in use, asked once.

``TF_USE_LEGACY_KERAS=1`` (read as TensorFlow reads it) means tf_keras, anything else Keras 3.
Importing this module imports that Keras; only the fronts may.
"""

import os
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def called_by_enqueuer() -> bool:
    """Whether we run in the thread with which tf_keras reads ahead.

    Its `OrderedEnqueuer` ends the epoch, too, if it wins a race with the training loop, which ends
    it in any case.
    """
    target = getattr(threading.current_thread(), "_target", None)
    return LEGACY and isinstance(getattr(target, "__self__", None), keras.utils.SequenceEnqueuer)


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
