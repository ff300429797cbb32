"""What `on_error="skip"` left out, where a user finds it. Imports pandas."""

import logging
from collections.abc import Iterable

import pandas as pd

from dfloader.errors import DecodeError

_log = logging.getLogger("dfloader")
_SHOWN = 5


class Failures:
    """The rows that could not be read, each once."""

    def __init__(self) -> None:
        self._by_row: dict[int, DecodeError] = {}
        self._logged = 0

    def add(self, errors: Iterable[DecodeError]) -> None:
        for error in errors:
            for row in error.rows:
                self._by_row.setdefault(row, error)

    def frame(self) -> pd.DataFrame:
        """List them by row: row, path, reason."""
        found = sorted(self._by_row.items())
        lines = [(row, error.path, error.reason) for row, error in found]
        return pd.DataFrame(lines, columns=["row", "path", "reason"])

    def log(self) -> None:
        """Warn of those found since the last time."""
        new = list(self._by_row.values())[self._logged :]
        self._logged += len(new)
        if new:
            shown = " ".join(error.message for error in new[:_SHOWN])
            more = f" And {len(new) - _SHOWN} more." if len(new) > _SHOWN else ""
            _log.warning("%d rows were left black with weight 0. %s%s", len(new), shown, more)
