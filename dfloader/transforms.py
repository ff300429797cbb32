"""Callables as augmentation: how each kind is called, and what it must give back.

Imports augment, idg and NumPy; the packages that the callables come from are never imported here.

1. A callable gets the image of one row, (h, w, c), after the `Augment` before it and before
   `rescale`, and gives one of the same shape.
2. Its random numbers come from the row's own generator, keyed by (seed, epoch, row), so that they
   are the same in every engine. One that draws from the global states of `random` and NumPy finds
   them seeded from that generator; they are put back afterwards.
3. Keras layers are called on whole batches, where the batch arrives, not in the workers.
"""

import copy
import inspect
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dfloader.augment import Augment
from dfloader.idg import call_image_data_generator

Image = npt.NDArray[Any]
Style = Literal["image", "image_rng", "image_rng_keyword", "keywords", "image_data_generator"]

_KERAS = ("keras", "tf_keras")
_global_states = threading.RLock()
_own = threading.local()


@dataclass(frozen=True)
class Call:
    """One callable.

    Attributes:
        function: what was given.
        style: how it is called.
        draws_globally: it uses the global random states.
    """

    function: Any
    style: Style
    draws_globally: bool = False

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", None) or type(self.function).__qualname__


class Changes(NamedTuple):
    """What was said as ``augment=``, in the order in which it is applied.

    Attributes:
        augment: drawn in the plan; None: nothing.
        calls: for each image.
        layers: Keras layers, for each batch.
    """

    augment: Augment | None = None
    calls: tuple[Call, ...] = ()
    layers: tuple[Any, ...] = ()


def resolve(said: Any) -> Changes:
    """Sort out ``augment=``.

    Args:
        said: an `Augment`, a callable, a Keras layer, or a list: first an `Augment`, then
            callables, then layers.

    Raises:
        TypeError: something is neither of these, or in the wrong place.
    """
    parts = list(said) if isinstance(said, (list, tuple)) else [] if said is None else [said]
    augment = parts.pop(0) if parts and isinstance(parts[0], Augment) else None
    calls = [_call(part) for part in parts if not _is_layer(part)]
    layers = [part for part in parts if _is_layer(part)]
    if [*(call.function for call in calls), *layers] != parts:
        raise TypeError(
            "augment: Keras layers work on whole batches, so they come after all callables. "
            "Move them to the end of the list."
        )
    return Changes(augment, tuple(calls), tuple(layers))


def apply(
    calls: Sequence[Call], image: Image, mask: Image | None, rng: np.random.Generator
) -> tuple[Image, Image | None]:
    """Call each callable in turn, on a copy.

    Args:
        calls: what to call.
        image: (h, w, c).
        mask: (h, w, 1), which only callables with a ``mask`` keyword and ImageDataGenerators
            change.
        rng: the row's generator.

    Returns:
        Image and mask, of the same shapes and dtypes.

    Raises:
        ValueError: a result does not fit.
    """
    for call in calls:
        with _seeded(rng) if call.draws_globally else nullcontext():
            result, new_mask = _STYLES[call.style](call.function, image.copy(), mask, rng)
        image = _fitting(result, image, call, "image")
        mask = None if mask is None else _fitting(new_mask, mask, call, "mask")
    return image, mask


def tried(calls: Sequence[Call], image: Image, mask: Image | None) -> tuple[Call, ...]:
    """Call each callable once, to see what it gives and whether it draws globally.

    Raises:
        ValueError: a callable fails, or its result does not fit.
    """
    done = []
    for call in calls:
        rng = np.random.Generator(np.random.Philox(0))
        with _kept_states() as has_drawn:
            try:
                image, mask = apply([call], image, mask, rng)
            except Exception as error:
                raise ValueError(
                    f"augment: {call.name} failed on an image {image.shape} of {image.dtype}: "
                    f"{error or type(error).__name__}"
                ) from error
            done.append(replace(call, draws_globally=has_drawn()))
    return tuple(done)


def _call(function: Any) -> Call:
    if isinstance(function, Augment):
        raise TypeError("augment: an Augment comes first in the list, and there is only one.")
    if all(hasattr(function, name) for name in ("apply_transform", "standardize", "flow")):
        return Call(function, "image_data_generator")
    if not callable(function) or inspect.isclass(function):
        raise TypeError(
            f"augment={function!r} is neither an Augment nor a callable, nor a list of these."
        )
    return Call(function, _style(function))


def _style(function: Callable[..., Any]) -> Style:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a function in C does not say
        return "image"
    kinds = [parameter.kind for parameter in parameters.values()]
    positional = [
        parameter
        for parameter in parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if {"image", "mask"} <= parameters.keys() or (
        not positional and _VAR_KEYWORD in kinds and not inspect.isfunction(function)
    ):
        return "keywords"
    needed = [parameter for parameter in positional if parameter.default is parameter.empty]
    if len(needed) == 2:
        return "image_rng"
    return "image_rng_keyword" if "rng" in parameters else "image"


_VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


def _is_layer(part: Any) -> bool:
    return any(
        kind.__name__ == "Layer" and kind.__module__.split(".")[0] in _KERAS
        for kind in type(part).__mro__
    )


Result = tuple[Any, Any]


def _image(function: Any, image: Image, mask: Any, rng: np.random.Generator) -> Result:
    return function(image), mask


def _image_rng(function: Any, image: Image, mask: Any, rng: np.random.Generator) -> Result:
    return function(image, rng), mask


def _image_rng_keyword(function: Any, image: Image, mask: Any, rng: np.random.Generator) -> Result:
    return function(image, rng=rng), mask


def _keywords(function: Any, image: Image, mask: Any, rng: np.random.Generator) -> Result:
    """Call as Albumentations is called; reseed a copy for each thread where it can be seeded."""
    if hasattr(function, "set_random_seed"):
        function = _copy_of_thread(function)
        function.set_random_seed(int(rng.integers(2**32)))
    data = {"image": image} if mask is None else {"image": image, "mask": mask[:, :, 0]}
    result = function(**data)
    if not isinstance(result, Mapping) or not data.keys() <= result.keys():
        raise ValueError(f"it gave {type(result).__name__}, not a dict with {list(data)}")
    changed = None if mask is None else np.asarray(result["mask"]).reshape(mask.shape)
    return result["image"], changed


def _copy_of_thread(function: Any) -> Any:
    copies: list[tuple[Any, Any]] = _own.__dict__.setdefault("copies", [])
    for given, own in copies:
        if given is function:
            return own
    copies.append((function, copy.deepcopy(function)))
    return copies[-1][1]


_STYLES: dict[str, Callable[..., Result]] = {
    "image": _image,
    "image_rng": _image_rng,
    "image_rng_keyword": _image_rng_keyword,
    "keywords": _keywords,
    "image_data_generator": call_image_data_generator,
}


def _fitting(result: Any, given: Image, call: Call, what: str) -> Image:
    """Check a result, and give floats and whole numbers the dtype of a float image."""
    array = result if isinstance(result, np.ndarray) else np.asarray(result)
    if array.shape != given.shape:
        raise ValueError(f"{call.name} gave an {what} of shape {array.shape}, not {given.shape}")
    if array.dtype == given.dtype:
        return array
    if given.dtype.kind == "f" and array.dtype.kind in "fui":
        return array.astype(given.dtype)
    if what == "mask" and array.dtype.kind in "ui":
        return array.astype(given.dtype)
    raise ValueError(f"{call.name} gave an {what} of {array.dtype}, not {given.dtype}")


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """Let the global random states follow `rng`, for one thread at a time."""
    seed = int(rng.integers(2**32))
    with _global_states, _kept_states():
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (it is this very state that the callable draws from)
        yield


@contextmanager
def _kept_states() -> Iterator[Callable[[], bool]]:
    """Put the global random states back; gives a function that tells whether they have moved."""
    pythons, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002

    def moved() -> bool:
        pairs = zip(np.random.get_state(), numpys, strict=True)  # noqa: NPY002
        return random.getstate() != pythons or any(np.any(now != was) for now, was in pairs)

    try:
        yield moved
    finally:
        random.setstate(pythons)
        np.random.set_state(numpys)  # noqa: NPY002
