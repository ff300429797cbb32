"""Every public name resolves to what it is called."""

from pathlib import Path

import pytest

import dfloader

PACKAGE = Path(dfloader.__file__).parent
BUILT = [name for name, module in dfloader._MODULES.items() if (PACKAGE / f"{module}.py").exists()]


@pytest.mark.parametrize("name", BUILT)
def test_name_resolves_to_what_it_is_called(name: str) -> None:
    assert getattr(dfloader, name).__name__ == name


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'DataFrameSequences'"):
        _ = dfloader.DataFrameSequences
