"""Engines for scripts that shall not import Keras; apart from what their workers import."""

from typing import Any

import pandas as pd
from probe import Probe

from dfloader.batch import prepare
from dfloader.frame import resolve
from dfloader.spec import parse
from dfloader.workers import Engine, Staff


def engine(filename: str, question: str = "0", *, images: int = 64, **staff: Any) -> Engine:
    """Make an engine without Keras: batches of 4 of one file, each row an answer."""
    df = pd.DataFrame({"filename": [filename] * images, "class": list("ab" * (images // 2))})
    keywords = {"target_size": (16, 16), "class_mode": "sparse"}
    said = parse(4, keywords, fresh_seed=0)
    loader = prepare(resolve(df, said.frame), said)
    return Engine(Probe(**vars(loader), question=question), Staff(**staff))
