"""`Augment`: which random changes a row's image may go through. Imports nothing of dfloader.

1. All geometry of a row is one crop and one 2x3 matrix, applied once, from the decoded pixels
   straight to the target size. The image is cropped, then shifted, rotated, sheared, zoomed and
   flipped, in this order.
2. All colour of a row is one 3x4 matrix, applied once, clipped once to the range of the values:
   saturation and hue, then contrast, brightness and channel shift. Erasing comes after it.
3. mixup and cutmix work on whole batches, after all other changes.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

FillMode = Literal["constant", "nearest", "reflect", "wrap"]
Range: TypeAlias = "float | tuple[float, float]"

_MAX_SEED = 2**64
_UNTRANSLATED = {
    "rescale": "say rescale= to the loader",
    "preprocessing_function": "put it after the Augment in a list",
    "featurewise_center": "put a keras.layers.Normalization into the model",
    "featurewise_std_normalization": "put a keras.layers.Normalization into the model",
    "samplewise_center": "put a function after the Augment in a list",
    "samplewise_std_normalization": "put a function after the Augment in a list",
    "zca_whitening": "put a function after the Augment in a list",
}


@dataclass(frozen=True, kw_only=True)
class Augment:
    """Random geometry and colour, drawn once for each (seed, epoch, row).

    Args:
        flip_horizontal: mirror left and right, with probability 1/2.
        flip_vertical: mirror top and bottom, with probability 1/2.
        rotation: degrees, from -rotation to rotation; positive is clockwise.
        shift: (height, width), fractions of the target size, each up or down.
        zoom: (low, high), drawn for each axis; the part of the image that is seen, so that values
            below 1 enlarge, as in keras-preprocessing.
        shear: degrees, from -shear to shear, as in keras-preprocessing.
        crop_scale: (low, high), the part of the image's area that a random crop keeps; None: no
            crop.
        crop_ratio: (low, high), width / height of the crop in pixels of the image, drawn evenly on
            a logarithmic scale. Where such a crop does not fit, it is the nearest that does, with
            the area kept.
        brightness: b for factors from 1 - b to 1 + b, or (low, high) factors.
        contrast: as brightness; the distance from the mean grey of the image.
        saturation: as brightness; the distance of a colour from its grey.
        hue: part of the colour circle, from -hue to hue, at most 0.5; the grey (luma) stays.
        channel_shift: added to every channel, from -channel_shift to channel_shift, in levels of
            0..255.
        erase: probability that a rectangle of 2 to 33 % of the image becomes `fill_value`.
        fill_mode: what lies outside the image: constant (`fill_value`), nearest (the edge),
            reflect (mirrored, edge pixels twice) or wrap (repeated).
        fill_value: 0..255.
        mixup: alpha of the Beta distribution of Zhang et al., 2018; 0: off. With cutmix too, each
            row gets one of them.
        cutmix: alpha of the Beta distribution of Yun et al., 2019; 0: off.
        seed: key of the draws; None: the loader's seed.

    Raises:
        ValueError: a value is out of range.

    Examples:
        >>> Augment(flip_horizontal=True, rotation=10).rotation
        10
    """

    flip_horizontal: bool = False
    flip_vertical: bool = False
    rotation: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)
    zoom: tuple[float, float] = (1.0, 1.0)
    shear: float = 0.0
    crop_scale: tuple[float, float] | None = None
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3)
    brightness: Range = 0.0
    contrast: Range = 0.0
    saturation: Range = 0.0
    hue: float = 0.0
    channel_shift: float = 0.0
    erase: float = 0.0
    fill_mode: FillMode = "constant"
    fill_value: float = 0
    mixup: float = 0.0
    cutmix: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            _check_number(name, getattr(self, name), low, high)
        for name, (low, high) in _PAIR_LIMITS.items():
            object.__setattr__(self, name, _pair(name, getattr(self, name), low, high))
        for name in FACTORS:
            _factors(name, getattr(self, name))
        for name in ("flip_horizontal", "flip_vertical"):
            object.__setattr__(self, name, _flag(name, getattr(self, name)))
        if self.fill_mode not in get_args(FillMode):
            raise ValueError(f"fill_mode={self.fill_mode!r} is not one of {get_args(FillMode)}.")
        _check_seed(self.seed)

    @classmethod
    def imagenet(cls) -> "Augment":
        """Random resized crop, horizontal flip, colour: how ImageNet models are trained."""
        return cls(
            crop_scale=(0.08, 1.0),
            flip_horizontal=True,
            brightness=0.4,
            contrast=0.4,
            saturation=0.4,
            hue=0.1,
        )

    @classmethod
    def light(cls) -> "Augment":
        """Small changes that rarely hurt: flip, 10 degrees, 10 % shift and zoom, colour."""
        return cls(
            flip_horizontal=True,
            rotation=10,
            shift=(0.1, 0.1),
            zoom=(0.9, 1.1),
            brightness=0.1,
            contrast=0.1,
            fill_mode="nearest",
        )

    @classmethod
    def from_image_data_generator(cls, idg: Any) -> "Augment":
        """Translate an ImageDataGenerator of keras-preprocessing, tf_keras or Keras.

        Raises:
            ValueError: an option has no counterpart; names all of them.
        """
        return cls(**_translated(idg))

    @property
    def warps(self) -> bool:
        """Whether the geometry needs more than a crop and flips."""
        return bool(
            self.rotation or self.shear or any(self.shift) or tuple(self.zoom) != (1.0, 1.0)
        )

    @property
    def flips(self) -> bool:
        return self.flip_horizontal or self.flip_vertical

    @property
    def repeats(self) -> bool:
        """Whether the picture is seen again outside of it."""
        return self.fill_mode in ("reflect", "wrap")

    @property
    def colours(self) -> bool:
        """Whether any colour may change."""
        still = all(self.factors(name) == (1.0, 1.0) for name in FACTORS)
        return not still or bool(self.hue or self.channel_shift)

    @property
    def mixes(self) -> bool:
        return bool(self.mixup or self.cutmix)

    def factors(self, name: str) -> tuple[float, float]:
        """Give the lowest and highest factor of brightness, contrast or saturation."""
        return _factors(name, getattr(self, name))


def check_crop(augment: Augment, target_size: tuple[int, int] | None) -> None:
    """Check that a crop has a size to be resized to.

    Raises:
        ValueError: it has none.
    """
    if augment.crop_scale and target_size is None:
        raise ValueError(
            f"crop_scale={augment.crop_scale!r} gives images of many sizes. "
            "Say target_size=(height, width)."
        )


FACTORS = ("brightness", "contrast", "saturation")
_LIMITS = {
    "rotation": (0.0, 180.0),
    "shear": (0.0, 89.0),
    "hue": (0.0, 0.5),
    "channel_shift": (0.0, 255.0),
    "erase": (0.0, 1.0),
    "fill_value": (0.0, 255.0),
    "mixup": (0.0, math.inf),
    "cutmix": (0.0, math.inf),
}
_MIN_PART = 1e-3  # smallest zoom and crop: a thousandth
_PAIR_LIMITS = {
    "shift": (0.0, 1.0),
    "zoom": (_MIN_PART, 1 / _MIN_PART),
    "crop_scale": (_MIN_PART, 1.0),
    "crop_ratio": (_MIN_PART, 1 / _MIN_PART),
}


def _check_number(name: str, value: object, low: float, high: float) -> None:
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not low <= float(value) <= high or math.isinf(float(value)):  # type: ignore[arg-type]
        upper = "up" if math.isinf(high) else f"to {high:g}"
        raise ValueError(f"{name}={value!r} is not a number from {low:g} {upper}.")


def _pair(name: str, value: Any, low: float, high: float) -> tuple[float, float] | None:
    if value is None and name == "crop_scale":
        return None
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 2:
        what = "(height, width)" if name == "shift" else "(low, high)"
        raise ValueError(f"{name}={value!r} is not a pair {what}.")
    first, second = value
    for number in (first, second):
        _check_number(name, number, low, high)
    if name != "shift" and first > second:
        raise ValueError(f"{name}={value!r}: low is greater than high.")
    return float(first), float(second)


def _factors(name: str, value: Any) -> tuple[float, float]:
    if hasattr(value, "__len__"):
        pair = _pair(name, value, 0.0, math.inf)
        assert pair is not None
        return pair
    _check_number(name, value, 0.0, math.inf)
    return max(0.0, 1.0 - value), 1.0 + value


def _flag(name: str, value: object) -> bool:
    if value not in (True, False):
        raise ValueError(f"{name}={value!r} is neither True nor False.")
    return bool(value)


def _check_seed(seed: object) -> None:
    if seed is None:
        return
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= int(seed) < _MAX_SEED:
        raise ValueError(f"seed={seed!r} is not a whole number from 0 to 2**64 - 1.")


def _translated(idg: Any) -> dict[str, Any]:
    problems = [f"{name} ({fix})" for name, fix in _UNTRANSLATED.items() if getattr(idg, name)]
    shift = (idg.height_shift_range, idg.width_shift_range)
    if any(hasattr(part, "__len__") or part >= 1 for part in shift):
        problems.append("height_shift_range or width_shift_range in pixels (say a fraction)")
    if getattr(idg, "interpolation_order", 1) != 1:
        problems.append("interpolation_order (say interpolation= to the loader)")
    if problems:
        names = "; ".join(problems)
        raise ValueError(f"these options of the ImageDataGenerator do not translate: {names}.")
    return {
        "flip_horizontal": idg.horizontal_flip,
        "flip_vertical": idg.vertical_flip,
        "rotation": idg.rotation_range,
        "shift": shift,
        "zoom": tuple(idg.zoom_range),
        "shear": idg.shear_range,
        "brightness": 0.0 if idg.brightness_range is None else tuple(idg.brightness_range),
        "channel_shift": idg.channel_shift_range,
        "fill_mode": idg.fill_mode,
        "fill_value": idg.cval,
    }
