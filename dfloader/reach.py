"""Whether callables can go to worker processes. Imports batch; pickle tells the rest.

What cannot be pickled `processes` finds. Here it is about what a worker would have to import.
"""

import io
import pickle
from typing import Any

from dfloader.batch import Loader

_FRAMEWORKS = {"tensorflow", "keras", "tf_keras"}


def check_needs_no_framework(loader: Loader) -> None:
    """Check that worker processes of a loader can stay without TensorFlow and Keras.

    Raises:
        ValueError: a callable would make them import one.
    """
    functions = {f"augment: {call.name}": call.function for call in loader.calls}
    functions["loader"] = loader.table.images.loader
    for name, function in functions.items():
        loaded = sorted(_modules(function) & _FRAMEWORKS)
        if loaded:
            raise ValueError(
                f"{name} needs {', '.join(loaded)}, which worker processes do not "
                "load. Use a callable that does without (keras_preprocessing has the same "
                "ImageDataGenerator), or use_multiprocessing=False."
            )


def _modules(function: Any) -> set[str]:
    """Give the top-level modules that unpickling would import."""
    reader = _Recorder(io.BytesIO(pickle.dumps(function)))
    reader.load()
    return reader.modules


class _Recorder(pickle.Unpickler):
    """Remembers which modules it was asked for."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module.split(".")[0])
        return super().find_class(module, name)
