"""What the user said, frozen and checked; no data. Imports errors only.

Three descriptions, one for each reader: `FrameSpec` (what the columns mean) is for the table,
`ImageSpec` (what a file becomes) for decode and render, `OrderSpec` (which rows form a batch) for
the plan. `parse` deals the keywords out to them.
"""

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

ClassMode = Literal["categorical", "sparse", "binary", "multilabel", "raw", "input"]
ColorMode = Literal["rgb", "rgba", "grayscale", "unchanged"]
Decode = Literal["scaled", "full"]
Dtype = Literal["float32", "uint8", "uint16"]
Interpolation = Literal["bilinear", "nearest", "area", "bicubic", "lanczos"]
OnError = Literal["raise", "skip"]
ResizeMode = Literal["stretch", "crop", "pad"]
Unknown = Literal["raise", "drop"]

# Channels of an example; None: as the file has them.
CHANNELS: Mapping[str, int | None] = {"rgb": 3, "rgba": 4, "grayscale": 1, "unchanged": None}
# A quarter of a GiB as RGB; from here on Pillow suspects a decompression bomb, too.
MAX_PIXELS = 2**28 // 3
_MAX_SEED = 2**64


class ArraySpec(NamedTuple):
    """Shape of one example (without the batch axis) and dtype of an array in a batch."""

    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class FrameSpec:
    """What the columns of the frame mean. See the public contract for each keyword."""

    directory: str | os.PathLike[str] | None = None
    loader: Callable[[str], Any] | None = None  # path -> array, for what no decoder here reads
    x_col: str | None = None
    y_col: str | Sequence[str] | None = None
    class_mode: ClassMode | Mapping[str, ClassMode] | None = "categorical"
    classes: Any = None  # names in order, a LabelEncoder, or for several outputs a dict of these
    unknown: Unknown = "raise"
    label_sep: str | None = None
    weight_col: str | Mapping[str, str] | None = None
    class_weight: Any = None  # "balanced", {class: weight}, or for several outputs a dict of these
    mask_col: str | None = None
    extra_cols: Mapping[str, str | Sequence[str]] | None = None
    sampler: str | None = None
    validate: bool = True
    on_error: OnError = "raise"  # with "skip", a file that does not exist fails when it is read

    def __post_init__(self) -> None:
        modes = get_args(ClassMode)
        if not isinstance(self.directory, (str, bytes, os.PathLike, type(None))):
            raise TypeError(f"directory={self.directory!r} is not a path.")
        if self.loader is not None and not callable(self.loader):
            raise TypeError(f"loader={self.loader!r} is not a function from a path to an array.")
        if isinstance(self.class_mode, Mapping):
            self._check_outputs(self.class_mode, tuple(m for m in modes if m != "input"))
        elif self.class_mode is not None:
            _check_choice("class_mode", self.class_mode, (*modes, None))
        _check_choice("unknown", self.unknown, get_args(Unknown))
        if self.label_sep is not None and not (isinstance(self.label_sep, str) and self.label_sep):
            raise ValueError(f"label_sep={self.label_sep!r} is not a non-empty string.")
        self._check_mask()
        if self.extra_cols is not None and not isinstance(self.extra_cols, Mapping):
            raise ValueError(
                f"extra_cols={self.extra_cols!r} is not a dict of columns by the input's name. "
                "Say extra_cols={'meta': ['age', 'sex']}."
            )
        if "image" in (self.extra_cols or ()):
            raise ValueError("extra_cols: 'image' is the name of the picture. Choose another name.")

    def _check_outputs(self, outputs: Mapping[str, ClassMode], modes: Sequence[str]) -> None:
        if not outputs:
            raise ValueError("class_mode={} names no output. Say class_mode=None for x alone.")
        for column, mode in outputs.items():
            _check_choice(f"class_mode[{column!r}]", mode, modes)

    def _check_mask(self) -> None:
        if self.mask_col is None:
            return
        if self.class_mode == "input":
            raise ValueError(
                f"class_mode='input' and mask_col={self.mask_col!r} both say what y is. "
                "Say class_mode=None for the mask alone."
            )
        if isinstance(self.class_mode, Mapping) and "mask" in self.class_mode:
            raise ValueError(
                "class_mode: an output is named 'mask', as is that of mask_col. Rename the column."
            )


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """What a file becomes: an array (height, width, channels) of one dtype.

    Values are 0..255 before `rescale`, or 0..65535 with dtype uint16.

    Attributes:
        max_pixels: a file that says it has more is an error, not decoded; None: no limit.
        on_error: what becomes of a row whose file cannot be read.
    """

    target_size: tuple[int, int] | None = (256, 256)
    color_mode: ColorMode = "rgb"
    interpolation: Interpolation = "bilinear"
    resize_mode: ResizeMode = "stretch"
    decode: Decode = "scaled"
    exif: bool = True
    dtype: Dtype = "float32"
    rescale: float | None = None
    max_pixels: int | None = MAX_PIXELS
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        _check_choice("color_mode", self.color_mode, get_args(ColorMode))
        _check_choice("interpolation", self.interpolation, get_args(Interpolation))
        _check_choice("resize_mode", self.resize_mode, get_args(ResizeMode))
        _check_choice("decode", self.decode, get_args(Decode))
        _check_choice("exif", self.exif, (True, False))
        _check_choice("dtype", self.dtype, get_args(Dtype))
        _check_choice("on_error", self.on_error, get_args(OnError))
        if self.max_pixels is not None and not (_is_int(self.max_pixels) and self.max_pixels > 0):
            raise ValueError(
                f"max_pixels={self.max_pixels!r} is not a positive whole number or None."
            )
        if self.target_size is not None:
            object.__setattr__(self, "target_size", _size(self.target_size))
        if self.rescale is not None and self.dtype != "float32":
            raise ValueError(
                f"rescale={self.rescale!r} needs dtype='float32', not {self.dtype!r}. "
                "Drop rescale, or put a keras.layers.Rescaling into the model."
            )

    @property
    def channels(self) -> int | None:
        return CHANNELS[self.color_mode]

    def signature(self) -> ArraySpec:
        height, width = self.target_size or (None, None)
        return ArraySpec((height, width, self.channels), self.dtype)


@dataclass(frozen=True, kw_only=True)
class OrderSpec:
    """Which rows form a batch, as a function of the epoch."""

    batch_size: int = 32
    shuffle: bool = True
    seed: int
    drop_remainder: bool = False
    shard: tuple[int, int] | None = None
    samples_per_epoch: int | None = None

    def __post_init__(self) -> None:
        if not _is_int(self.batch_size) or self.batch_size < 1:
            raise ValueError(f"batch_size={self.batch_size!r} is not a positive whole number.")
        if not _is_int(self.seed) or not 0 <= self.seed < _MAX_SEED:
            raise ValueError(f"seed={self.seed!r} is not a whole number from 0 to 2**64 - 1.")
        if self.shard is not None:
            object.__setattr__(self, "shard", _shard(self.shard))
        samples = self.samples_per_epoch
        if samples is not None and (not _is_int(samples) or samples < 1):
            raise ValueError(f"samples_per_epoch={samples!r} is not a positive whole number.")

    def batches(self, examples: int) -> int:
        """Count the batches of an epoch of `examples` rows."""
        whole = examples // self.batch_size
        return whole if self.drop_remainder else math.ceil(examples / self.batch_size)


@dataclass(frozen=True)
class Spec:
    """All that was said about a loader.

    Attributes:
        frame: about the columns.
        image: about the files.
        order: about the rows.
        augment: as it was said; `transforms.resolve` reads it.
        cache: "memory", a folder, or None.
    """

    frame: FrameSpec
    image: ImageSpec
    order: OrderSpec
    augment: Any = None
    cache: str | os.PathLike[str] | None = None


def parse(batch_size: int, keywords: Mapping[str, Any], *, fresh_seed: int) -> Spec:
    """Deal keywords out to the three specs.

    Args:
        batch_size: rows in a batch.
        keywords: the `**spec` of an entry point.
        fresh_seed: the seed to use where `keywords` name none.

    Raises:
        TypeError: a keyword is unknown.
        ValueError: a value is not one of those allowed.
    """
    check_keywords(keywords, known_keywords())
    order = {"batch_size": batch_size, **_taken(OrderSpec, keywords)}
    if order.get("seed") is None:
        if order.get("shard") is not None:
            raise ValueError(
                f"shard={order['shard']!r} needs a seed that all processes share. Say seed=..."
            )
        order["seed"] = fresh_seed
    return Spec(
        FrameSpec(**_taken(FrameSpec, keywords)),
        ImageSpec(**_taken(ImageSpec, keywords)),
        OrderSpec(**order),
        keywords.get("augment"),
        keywords.get("cache"),
    )


def known_keywords() -> tuple[str, ...]:
    """List the keywords of `**spec`."""
    named = [f.name for part in (FrameSpec, ImageSpec, OrderSpec) for f in fields(part)]
    return (*(name for name in dict.fromkeys(named) if name != "batch_size"), "augment", "cache")


def check_keywords(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise TypeError for the first unknown keyword, with the nearest known one."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise TypeError(
                f"unknown keyword {name!r}.{guess} Known keywords: {', '.join(sorted(known))}."
            )


def _taken(part: type[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(part)}
    return {name: value for name, value in keywords.items() if name in names}


def _check_choice(name: str, value: object, allowed: Sequence[object]) -> None:
    if value in allowed:
        return
    near = difflib.get_close_matches(str(value), [str(a) for a in allowed], n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}.{guess}")


def _size(value: Any) -> tuple[int, int]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"target_size={value!r} is not (height, width).")
    if not all(_is_int(side) and side > 0 for side in value):
        raise ValueError(f"target_size={value!r}: height and width are positive whole numbers.")
    return int(value[0]), int(value[1])


def _shard(value: Any) -> tuple[int, int]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"shard={value!r} is not (index, count).")
    index, count = value
    if not (_is_int(index) and _is_int(count) and 0 <= index < count):
        raise ValueError(f"shard={value!r}: whole numbers with 0 <= index < count are needed.")
    return int(index), int(count)


def _is_int(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
