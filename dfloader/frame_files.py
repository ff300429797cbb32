"""Read the user's table from a file. May import pandas."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from dfloader.usage import WrongUseError

READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
    ".json": pd.read_json,
    ".jsonl": lambda path: pd.read_json(path, lines=True),
    ".feather": pd.read_feather,
}


def read_frame(path: Path) -> pd.DataFrame:
    """Read a .csv, .tsv, .parquet, .json, .jsonl or .feather file.

    Raises:
        WrongUseError: there is no such file, its ending is none of these, or it does not read.

    Examples:
        >>> from pathlib import Path
        >>> len(read_frame(Path("sample_data/labels.csv"))) > 0
        True
    """
    if not path.is_file():
        raise WrongUseError(f"There is no file {path}.")
    if path.suffix.lower() not in READERS:
        raise WrongUseError(f"{path.name} does not end in one of {', '.join(READERS)}.")
    return _read(path)


def _read(path: Path) -> pd.DataFrame:
    try:
        return READERS[path.suffix.lower()](path)
    except ImportError as error:
        hint = 'Parquet and Feather need pyarrow: python -m pip install "dfloader[all]".'
        raise WrongUseError(f"{path} cannot be read. {hint}") from error
    except (ValueError, OSError) as error:
        raise WrongUseError(f"{path} cannot be read as {path.suffix}: {error}") from error
