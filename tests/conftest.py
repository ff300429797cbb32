"""Pictures of known pixels, and frames of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent
SIDES = [(40, 60), (61, 47), (200, 150), (64, 64), (333, 500)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty smooth random pictures, JPEG and PNG, colour and grey, of five sizes."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(7)
    for i in range(20):
        height, width = SIDES[i % len(SIDES)]
        small = rng.integers(0, 256, (8, 8, 3), np.uint8)
        image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
        image = image.convert("L") if i % 4 == 3 else image
        image.save(folder / f"{i:02}.{'png' if i % 3 == 0 else 'jpg'}", quality=90)
    return folder


@pytest.fixture
def df(folder: Path) -> pd.DataFrame:
    """The pictures with absolute paths, three classes, a number each."""
    names = sorted(str(path) for path in folder.iterdir())
    return pd.DataFrame(
        {
            "filename": names,
            "class": [("cat", "dog", "emu")[i % 3] for i in range(20)],
            "size": [i / 4 for i in range(20)],
            "count": range(20),
        }
    )
