"""What loaders do, not how fast: the rows of README's table that a run can show.

    python benchmarks/features.py

Each peer that is installed is asked the same questions on `sample_data`; the others are left out.
`draws` are random numbers of one seed, with no worker, one and two.
"""

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

DATA = Path(__file__).parent.parent / "sample_data"
ROWS = 8
Answers = dict[str, str]


def frame(*, lost: bool) -> pd.DataFrame:
    """Eight rows with full paths; with `lost` the fourth has no file."""
    df = pd.read_csv(DATA / "labels.csv").head(ROWS)
    df["filename"] = [str(DATA / name) for name in df["filename"]]
    if lost:
        df.loc[3, "filename"] = str(DATA / "lost.jpg")
    return df


def outcome(action: Callable[[], str]) -> str:
    """Say what an action gives, or the error that ends it."""
    try:
        return action()
    except Exception as error:  # what is asked is which error it is
        return f"{type(error).__name__}: {str(error)[:56]}"


def same(draws: list[Any]) -> str:
    return "the same" if all(np.array_equal(draws[0], each) for each in draws) else "differ"


def dfloader() -> Answers:
    from dfloader import Augment, DataFrameSequence

    said: dict[str, Any] = {"target_size": (16, 16), "augment": Augment.light(), "seed": 1}
    seqs = [DataFrameSequence(frame(lost=False), 4, workers=n, **said) for n in (0, 1, 2)]
    draws = [np.concatenate([x for x, _ in seq]) for seq in seqs]
    return {
        "a missing file": outcome(lambda: str(len(DataFrameSequence(frame(lost=True))))),
        "draws": same(draws),
        "state": str(seqs[0].state_dict()),
    }


def _iterator(generator: Any) -> Callable[[], str]:
    def build() -> str:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("always")
            found = generator.flow_from_dataframe(frame(lost=True), target_size=(16, 16)).n
        return f"{found} of {ROWS} rows left, {len(caught)} warning"

    return build


def keras() -> Answers:
    import keras
    from keras.src.legacy.preprocessing.image import ImageDataGenerator

    has_state = hasattr(keras.utils.PyDataset, "state_dict")
    return {
        "a missing file": outcome(_iterator(ImageDataGenerator())),
        "draws": "not asked",
        "state": "PyDataset.state_dict" if has_state else "no PyDataset.state_dict",
    }


def keras_preprocessing() -> Answers:
    from keras_preprocessing.image import ImageDataGenerator, Iterator

    return {
        "a missing file": outcome(_iterator(ImageDataGenerator())),
        "draws": "not asked",
        "state": "state_dict" if hasattr(Iterator, "state_dict") else "no state_dict",
    }


def tensorflow() -> Answers:
    import tensorflow as tf

    ds = tf.data.Dataset.from_tensor_slices(frame(lost=True)["filename"].tolist())
    read = ds.map(tf.io.read_file)
    return {
        "a missing file": f"when read, {outcome(lambda: str(len(list(read))))}",
        "draws": "not asked",
        "state": f"tf.train.Checkpoint of an iterator: {_is_trackable(iter(ds))}",
    }


def _is_trackable(iterator: Any) -> bool:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        return bool(tf.train.Checkpoint(iterator=iterator).save(str(Path(folder, "state"))))


class _Drawing:
    """A torch dataset whose items are random."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, i: int) -> Any:
        import torch

        return torch.rand(())


def torch() -> Answers:
    import torch
    from torch.utils.data import DataLoader

    draws = []
    for workers in (0, 1, 2):
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(1)
        loader = DataLoader(_Drawing(), 4, num_workers=workers, generator=generator)
        draws.append(np.concatenate([batch.numpy() for batch in loader]))
    has_state = hasattr(DataLoader, "state_dict")
    return {
        "a missing file": "your own Dataset decides",
        "draws": same(draws),
        "state": "DataLoader.state_dict" if has_state else "no DataLoader.state_dict",
    }


def datasets() -> Answers:
    from datasets import Dataset, Image, IterableDataset

    made = Dataset.from_pandas(frame(lost=True)[["filename"]]).cast_column("filename", Image())
    has_state = hasattr(IterableDataset, "state_dict")
    return {
        "a missing file": f"{len(made)} rows; when read, {outcome(lambda: str(made[3]))}",
        "draws": "not asked",
        "state": "IterableDataset.state_dict" if has_state else "no IterableDataset.state_dict",
    }


def _draw(row: int, rng: np.random.Generator) -> float:
    return float(rng.random())


def grain() -> Answers:
    import grain
    from absl import flags

    flags.FLAGS.mark_as_parsed()  # grain reads some, which absl's own start would have parsed
    drawn = grain.MapDataset.range(ROWS).seed(1).shuffle().random_map(_draw).to_iter_dataset()
    options = [grain.MultiprocessingOptions(num_workers=workers) for workers in (1, 2)]
    passes = [list(drawn), *(list(drawn.mp_prefetch(option)) for option in options)]
    has_state = hasattr(iter(drawn), "get_state")
    return {
        "a missing file": "your own source decides",
        "draws": same(passes),
        "state": "iterator.get_state" if has_state else "no iterator.get_state",
    }


PEERS = {
    "dfloader": dfloader,
    "keras": keras,
    "keras-preprocessing": keras_preprocessing,
    "tensorflow": tensorflow,
    "torch": torch,
    "datasets": datasets,
    "grain": grain,
}


def main() -> None:
    """Ask every peer that is installed."""
    table = Table("loader", "a missing file", "draws", "state")
    for name, ask in PEERS.items():
        if find_spec(name.replace("-", "_")) is None:
            continue
        answers = ask()
        shown = "" if name == "dfloader" else f" {version(name)}"
        table.add_row(name + shown, *(answers[column.header] for column in table.columns[1:]))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
