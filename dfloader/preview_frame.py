"""What `dfloader preview` does. May import pandas."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dfloader.augment import Augment
from dfloader.batch import prepare
from dfloader.frame import resolve
from dfloader.frame_files import read_frame
from dfloader.preview import COLUMNS, preview
from dfloader.spec import parse
from dfloader.usage import WrongUseError

PRESETS: dict[str, Callable[[], Augment]] = {
    "light": Augment.light,
    "imagenet": Augment.imagenet,
}
_ROWS = 16


def preview_frame(
    path: Path, out: Path, *, augment: str | None, directory: Path | None, **spec: Any
) -> None:
    """Write the preview of a frame file, for the command line.

    Args:
        path: of the frame; relative paths in it start from its folder, unless
        directory: says another.
        out: the picture to write.
        augment: a name of `PRESETS`, or None.
        **spec: the common keywords.

    Raises:
        WrongUseError: there is no such preset or file.
    """
    if augment is not None and augment not in PRESETS:
        raise WrongUseError(f"--augment {augment} is not one of {', '.join(PRESETS)}.")
    chosen = None if augment is None else PRESETS[augment]()
    said = parse(
        _ROWS, {**spec, "directory": directory or path.parent, "augment": chosen}, fresh_seed=0
    )
    loader = prepare(resolve(read_frame(path), said.frame), said)
    draws = 0 if augment is None else COLUMNS
    picture = preview(loader, loader.load(0, 0), epoch=0, images=_ROWS, draws=draws)
    picture.save(out)
