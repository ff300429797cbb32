"""Files behind an address (s3://, gs://, https://, memory://, zip://...), through fsspec.

Imports nothing of dfloader. fsspec, of the extra `remote`, takes longer to import than all
of dfloader, so it is imported when the first address is met.
"""

import time
from importlib import import_module
from typing import Any

# Seconds between attempts: networks fail for a moment.
WAITS = (0.1, 0.4, 1.6)
# What another attempt does not mend.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, ImportError, ValueError)


def read(address: str) -> bytes:
    """Give the content of the file at `address`.

    Raises:
        OSError: it cannot be read, after some attempts where that may help.
        ImportError: what reads such addresses is not installed.
    """
    for wait in WAITS:
        try:
            return _fetch(address)
        except _FINAL as error:
            raise _as_os_error(error) from error
        except Exception:  # every protocol has its own errors for a network that fails
            time.sleep(wait)
    try:
        return _fetch(address)
    except Exception as error:
        raise _as_os_error(error, f" (after {len(WAITS) + 1} attempts)") from error


def protocols(address: str) -> frozenset[str]:
    """Name what reads an address: zip and s3 for ``zip://a.jpg::s3://bucket/b.zip``."""
    parts = (part.partition("://") for part in address.split("::"))
    return frozenset(protocol for protocol, mark, _ in parts if mark)


def check_protocol(protocol: str) -> None:
    """Check that such addresses can be read, without reading any.

    Raises:
        ImportError: what reads them is not installed.
        ValueError: nothing reads them.
    """
    try:
        _fsspec().get_filesystem_class(protocol)
    except ImportError as error:
        raise ImportError(f"{protocol}:// cannot be read: {error}") from error


def _fetch(address: str) -> bytes:
    files, path = _fsspec().core.url_to_fs(address)
    content: bytes = files.cat_file(path)
    return content


def _fsspec() -> Any:
    try:
        return import_module("fsspec")
    except ModuleNotFoundError as error:
        raise ImportError(
            'Addresses such as s3:// and https:// need fsspec: pip install "dfloader[remote]".'
        ) from error


def _as_os_error(error: Exception, more: str = "") -> Exception:
    """Leave ImportError alone: it is the installation's fault, not the row's."""
    if isinstance(error, ImportError):
        return error
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError("no such file")
    return OSError(f"{type(error).__name__}: {error}{more}")
