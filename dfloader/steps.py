"""What a training step costs: a sleep, or a Keras model. Imports Keras only for a model.

``5ms`` stands for a model on an accelerator: it takes its time and no core. A file is a compiled
Keras model, trained on the batches as `train_on_batch` does.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dfloader.usage import WrongUseError

Step = Callable[[Any], None]

NONE = "none"
_SLEEP = re.compile(r"(\d+(?:\.\d+)?) ?ms")


def check_model(said: str | None) -> str | None:
    """Give a model as a bout takes it: a cost, the absolute path of a file, or None.

    Raises:
        WrongUseError: it is neither a cost nor a file that Keras reads.
    """
    if said is None or said == NONE:
        return None
    if _SLEEP.fullmatch(said):
        return said
    if not Path(said).exists():
        raise WrongUseError(
            f"model={said!r} is no file, nor a cost such as '5ms' or 'none'. "
            "Save the compiled model with model.save('model.keras')."
        )
    return str(Path(said).absolute())


def step_of(model: str) -> Step:
    """Make the step of what `check_model` gave.

    Raises:
        WrongUseError: the file holds no compiled model.
    """
    milliseconds = _SLEEP.fullmatch(model)
    if milliseconds:
        seconds = float(milliseconds[1]) / 1000
        return lambda batch: time.sleep(seconds)
    return _training(model)


def _training(path: str) -> Step:
    from dfloader.backend import keras

    try:
        model = keras.models.load_model(path)
    except (OSError, ValueError) as error:
        raise WrongUseError(f"Keras cannot load the model {path}: {error}") from error
    if not getattr(model, "compiled", True) or model.optimizer is None:
        raise WrongUseError(f"{path} is not compiled. Call model.compile(...) before model.save.")

    def step(batch: Any) -> None:
        parts = batch if isinstance(batch, tuple) else (batch,)
        model.train_on_batch(*parts)  # gives the loss as a number, so the step is over then

    return step
