"""A pipeline that is called as Albumentations' are: `transform(image=..., mask=...)`, a dict back.

    python examples/albumentations_style.py

The transforms below stand for an `A.Compose` and need nothing but NumPy. Ends with exit status 1 if
picture and mask part, or if a batch depends on the engine.
"""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dfloader import DataFrameSequence, to_tf_dataset

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"


class QuarterTurn:
    """Turn picture and mask by 0, 90, 180 or 270 degrees."""

    def __call__(self, *, image: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
        turns = random.randrange(4)  # the row's own: the global state is seeded for each row
        return {"image": np.rot90(image, turns), "mask": np.rot90(mask, turns)}


class Dim:
    """Make the picture darker; the mask stays."""

    def __call__(self, *, image: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
        return {"image": image * np.float32(random.uniform(0.5, 1)), "mask": mask}


class Compose:
    """Call transforms one after the other."""

    def __init__(self, *transforms: Any) -> None:
        self.transforms = transforms

    def __call__(self, **data: np.ndarray) -> dict[str, np.ndarray]:
        for transform in self.transforms:
            data = transform(**data)
        return data


df = pd.read_csv(SAMPLE_DATA / "labels.csv").head(64)
said = {"directory": SAMPLE_DATA, "target_size": (48, 48), "mask_col": "mask", "class_mode": None}
# For worker processes, put the classes into a module that they can import.
transform = Compose(QuarterTurn(), Dim())
train = DataFrameSequence(df, 16, seed=1, augment=transform, workers=2, **said)
plain = DataFrameSequence(df, 16, seed=1, **said)
x, mask = train[0]
print(f"pictures {x.shape} {x.dtype}, masks {mask.shape} {mask.dtype}")


def went_together(x: np.ndarray, mask: np.ndarray, new_x: np.ndarray, new_mask: np.ndarray) -> bool:
    """Say whether one turn explains both the new picture, which is darker, and its mask."""
    turned = [(np.rot90(x, turns), np.rot90(mask, turns)) for turns in range(4)]
    dimmed = new_x.mean() / x.mean()
    return any(
        np.array_equal(m, new_mask) and np.allclose(a * dimmed, new_x, atol=0.1) for a, m in turned
    )


together = [
    went_together(*rows)
    for (x, mask), (new_x, new_mask) in zip(plain, train, strict=True)
    for rows in zip(x, mask, new_x, new_mask, strict=True)
]
by_tf = to_tf_dataset(df, 16, seed=1, augment=transform, **said)
same = all(
    np.array_equal(mask, tf_mask) and np.abs(x - tf_x).max() <= 0.02
    for (x, mask), (tf_x, tf_mask) in zip(train, by_tf, strict=True)
)
print(f"picture and mask went together in {sum(together)} of {len(together)} rows")
print(f"two threads and tf.data draw the same: {same}")
if not (all(together) and same):
    sys.exit("The pipeline was not applied as it should be.")
