"""The examples on TFRecords reach the figures they promise."""

import re
from pathlib import Path

from example_run import run


def test_mnist_from_records_reaches_98_percent_in_a_second_process(tmp_path: Path) -> None:
    found = re.search(
        r"([\d.]+)% of 1000 held out digits are right", run("mnist_records.py", tmp_path)
    )
    assert found is not None
    assert float(found[1]) >= 98


def test_a_unet_learns_masks_from_records(tmp_path: Path) -> None:
    found = re.search(r"([\d.]+)% mean intersection over union", run("unet_records.py", tmp_path))
    assert found is not None
    assert float(found[1]) >= 80
