"""Train image models from a DataFrame of paths and labels.

Names resolve on first use, so that ``import dfloader`` loads neither TensorFlow nor Keras nor
pandas, and a worker process never does.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "Augment": "augment",
    "DataFrameError": "errors",
    "DataFrameSequence": "sequence",
    "DecodeError": "errors",
    "LabelEncoder": "labels",
    "Resume": "resume",
    "check": "checks",
    "compare": "comparing",
    "evaluate_generator": "generators",
    "fit_generator": "generators",
    "flow_from_dataframe": "legacy",
    "predict": "prediction",
    "predict_generator": "generators",
    "split_dataframe": "split",
    "read_tfrecords": "records_read",
    "to_tf_dataset": "tfdata",
    "write_tfrecords": "records_write",
}

__all__ = sorted(_MODULES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dfloader' has no attribute {name!r}")
    value = getattr(import_module(f"dfloader.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
