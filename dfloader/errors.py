"""The two errors a user meets. Imports nothing."""

from collections.abc import Sequence
from typing import Any


class _LocatedError(ValueError):
    """A message that also says where: column, rows, path, and what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        column: str | None = None,
        rows: Sequence[int] = (),
        path: str | None = None,
        hint: str | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message} {hint}")
        self.message = message
        self.column = column
        self.rows = tuple(rows)
        self.path = path
        self.hint = hint
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("column", "rows", "path", "hint", "reason")
        where = {name: getattr(self, name) for name in names}
        return _rebuild, (type(self), self.message, where)


class DataFrameError(_LocatedError):
    """The frame, or what was said about it, is wrong.

    Attributes:
        column: the column at fault, if one is.
        rows: positions (not index labels) of the first bad rows.
        path: the file at fault, if one is.
        hint: what to do about it; also the end of the message.
    """


class DecodeError(_LocatedError):
    """A file could not be turned into an image.

    Attributes:
        reason: what is wrong with it, without row and path; the others as in `DataFrameError`.
    """


def _rebuild(cls: type[_LocatedError], message: str, where: dict[str, Any]) -> _LocatedError:
    return cls(message, **where)
