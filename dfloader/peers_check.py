"""Which peers can do what was asked, and why the others cannot: none is measured doing less.

A peer is left out for a keyword that it has no word for, for a file that it does not read, and
where its package is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from dfloader.batch import Loader
from dfloader.compare_work import keywords_of
from dfloader.spec import ImageSpec, Spec

# What only says where things are, or is done by handing over what this package resolved.
_ANY = frozenset(
    ("directory", "x_col", "y_col", "classes", "validate", "seed", "shuffle", "decode", "exif")
)
_ANY |= {"max_pixels", "batch_size", "target_size"}

_ONE_CLASS = ("categorical", "sparse", "binary", None)
_TF_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif")


@dataclass(frozen=True)
class Peer:
    """What a peer can do.

    Attributes:
        module: that must be installed.
        install: the package to install for it.
        takes: for a keyword its values; an empty tuple: any.
        suffixes: of the files that it reads; an empty tuple: any.
        paths: it reads local files only.
    """

    module: str
    install: str
    takes: Mapping[str, tuple[Any, ...]]
    suffixes: tuple[str, ...] = ()
    paths: bool = True


_FLOW: dict[str, tuple[Any, ...]] = {
    "class_mode": _ONE_CLASS,
    "interpolation": ("nearest", "bilinear", "bicubic", "lanczos"),
    "color_mode": ("rgb", "rgba", "grayscale"),
    "dtype": ("float32", "uint8"),
    "rescale": (),
    "weight_col": (),
    "resize_mode": ("stretch",),
}
PEERS: Mapping[str, Peer] = {
    "keras-preprocessing": Peer("keras_preprocessing", "keras-preprocessing", _FLOW),
    "keras": Peer("keras", "keras", _FLOW),
    "tf.data by hand": Peer(
        "tensorflow",
        "tensorflow",
        {
            "class_mode": (*_ONE_CLASS, "multilabel", "raw"),
            "label_sep": (),
            "weight_col": (),
            "class_weight": (),
            "interpolation": ("bilinear", "nearest", "area"),
            "color_mode": ("rgb", "rgba", "grayscale"),
            "dtype": ("float32", "uint8"),
            "rescale": (),
            "resize_mode": ("stretch",),
            "drop_remainder": (),
        },
        _TF_SUFFIXES,
    ),
    "image_dataset_from_directory": Peer(
        "keras",
        "keras",
        {
            "class_mode": _ONE_CLASS,
            "interpolation": ("bilinear", "nearest", "area"),
            "color_mode": ("rgb", "rgba", "grayscale"),
            "dtype": ("float32",),
            "resize_mode": ("stretch",),
        },
        _TF_SUFFIXES,
    ),
    "torch": Peer(
        "torch",
        "torch",
        {
            **{field.name: () for field in fields(ImageSpec)},
            "class_mode": (*_ONE_CLASS, "multilabel", "raw"),
            "label_sep": (),
            "weight_col": (),
            "class_weight": (),
            "dtype": ("float32", "uint8"),
            "on_error": ("raise",),
            "drop_remainder": (),
        },
        paths=False,
    ),
}


def reason_against(peer: str, spec: Spec, loader: Loader) -> str | None:
    """Say why a peer is left out; None: it takes part.

    Args:
        peer: a name of `PEERS`.
        spec: what was asked for.
        loader: of the frame.
    """
    can = PEERS[peer]
    if find_spec(can.module) is None:
        return f"{can.module} is not installed: python -m pip install {can.install}"
    return _unsaid(can, spec) or _unread(can, loader)


def _unsaid(peer: Peer, spec: Spec) -> str | None:
    for name, (value, default) in keywords_of(spec).items():
        if name in _ANY:
            continue
        allowed = peer.takes.get(name)
        if allowed is None and value != default:
            return f"it has nothing like {name}"
        if allowed and isinstance(value, Mapping):
            return f"it has nothing like several outputs in {name}"
        if allowed and value not in allowed:
            return f"it does not do {name}={value!r}"
    if spec.image.target_size is None:
        return "it needs a target_size"
    return None


def _unread(peer: Peer, loader: Loader) -> str | None:
    images = loader.table.images
    if not peer.paths:
        return None
    if images.kind != "path" or any(b"://" in images[row] for row in range(len(images))):
        return "it reads local files only"
    for row in range(len(images) if peer.suffixes else 0):
        suffix = PurePath(images.path(row) or "").suffix.lower()
        if suffix not in peer.suffixes:
            return f"it does not read {suffix or 'files without an ending'} (row {row})"
    return None
