"""What an ``ImageDataGenerator`` does to one image, with the geometry done by OpenCV.

Works on keras-preprocessing's, tf_keras' and Keras' own class by their attributes. A method that a
subclass or the user replaced is called; so is the original wherever OpenCV cannot match it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dfloader.legacy.affine import affine, applies, warp

Pixels = npt.NDArray[Any]
Parameters = Mapping[str, Any]

_ORIGINALS = ("keras_preprocessing.", "keras.src.", "tf_keras.src.")
_OLD = "keras_preprocessing."


def runs_user_code(generator: Any) -> bool:
    """Whether code that may draw from NumPy's global state runs for each image."""
    methods = ("get_random_transform", "apply_transform", "standardize")
    replaced = not all(_is_original(generator, method) for method in methods)
    return replaced or bool(getattr(generator, "preprocessing_function", None))


def draw(generator: Any, shape: tuple[int, ...], rng: Any) -> Parameters:
    """Draw the parameters of one image.

    Args:
        shape: the image's.
        rng: a ``RandomState``, or ``numpy.random`` itself while it is the stream.
    """
    if not _is_original(generator, "get_random_transform"):
        parameters: Parameters = generator.get_random_transform(shape)
        return parameters
    theta = _uniform(rng, generator.rotation_range)
    tx = _shift(rng, generator.height_shift_range, shape[generator.row_axis - 1])
    ty = _shift(rng, generator.width_shift_range, shape[generator.col_axis - 1])
    shear = _uniform(rng, generator.shear_range)
    low, high = generator.zoom_range
    zx, zy = (1, 1) if low == high == 1 else rng.uniform(low, high, 2)
    return {
        "theta": theta,
        "tx": tx,
        "ty": ty,
        "shear": shear,
        "zx": zx,
        "zy": zy,
        "flip_horizontal": (rng.random_sample() < 0.5) * generator.horizontal_flip,
        "flip_vertical": (rng.random_sample() < 0.5) * generator.vertical_flip,
        "channel_shift_intensity": _uniform(rng, generator.channel_shift_range, none=None),
        "brightness": _brightness(rng, generator.brightness_range),
    }


def transform(generator: Any, x: Pixels, parameters: Parameters) -> Pixels:
    """Apply the geometry and colour that were drawn to an image."""
    if not _opencv_can(generator, x, parameters):
        transformed: Pixels = generator.apply_transform(x, parameters)
        return transformed
    height, width, _ = x.shape
    flips = bool(parameters["flip_vertical"]), bool(parameters["flip_horizontal"])
    old = _module(generator, "apply_transform").startswith(_OLD)
    geometry = affine(parameters, height, width, old=old)
    if geometry is None:
        x = x[:: -1 if flips[0] else 1, :: -1 if flips[1] else 1]
    else:
        where = geometry.flipped(height, width, *flips)
        x = warp(x, where, generator.fill_mode, generator.cval)
    return _shift_channels(x, parameters["channel_shift_intensity"])


def _opencv_can(generator: Any, x: Pixels, parameters: Parameters) -> bool:
    """Brightness truncates to whole levels, where the smallest difference becomes one."""
    return (
        _is_original(generator, "apply_transform")
        and _is_original(generator, "get_random_transform")
        and parameters["brightness"] is None
        and generator.data_format == "channels_last"
        and applies(x, generator.fill_mode, generator.interpolation_order)
    )


def _is_original(generator: Any, method: str) -> bool:
    return method not in vars(generator) and _module(generator, method).startswith(_ORIGINALS)


def _module(generator: Any, method: str) -> str:
    return str(getattr(type(generator), method).__module__)


def _uniform(rng: Any, most: float, none: Any = 0) -> Any:
    return rng.uniform(-most, most) if most else none


def _brightness(rng: Any, limits: Any) -> Any:
    return None if limits is None else rng.uniform(limits[0], limits[1])


def _shift(rng: Any, limits: Any, size: int) -> Any:
    """Draw a shift in pixels.

    Args:
        limits: a float (a fraction of ``size`` below 1, else pixels), an int, or several to
            choose from; `choice` says which by raising, as in the original.
    """
    if not limits:
        return 0
    try:
        shift = rng.choice(limits) * rng.choice([-1, 1])
    except ValueError:
        shift = rng.uniform(-limits, limits)
    return shift * size if np.max(limits) < 1 else shift


def _shift_channels(x: Pixels, intensity: float | None) -> Pixels:
    return x if intensity is None else np.clip(x + intensity, x.min(), x.max())
