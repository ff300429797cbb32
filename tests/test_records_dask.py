"""Records written by a cluster of another kind."""

from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest

from dfloader import DataFrameError, DataFrameSequence, DecodeError, write_tfrecords
from dfloader.records_check import check_records


@pytest.fixture(scope="module")
def executor() -> distributed.cfexecutor.ClientExecutor:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


def test_two_dask_workers_write_the_shards(
    executor: distributed.cfexecutor.ClientExecutor, df: pd.DataFrame, tmp_path: Path
) -> None:
    write_tfrecords(df, tmp_path, shards=6, executor=executor)
    assert list(check_records(tmp_path)) == [[]] * 6
    reading = {"target_size": (16, 16), "seed": 2}
    ours = DataFrameSequence.from_tfrecords(tmp_path, 20, **reading)[0]
    theirs = DataFrameSequence(df, 20, **reading)[0]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_error_in_a_dask_worker_arrives_here(
    executor: distributed.cfexecutor.ClientExecutor, df: pd.DataFrame, tmp_path: Path
) -> None:
    df.loc[7, "filename"] = str(tmp_path / "gone.jpg")
    with pytest.raises(DecodeError, match=r"Row 7: .*gone\.jpg"):
        write_tfrecords(df, tmp_path / "out", shards=4, validate=False, executor=executor)
    with pytest.raises(DataFrameError, match="no schema"):
        DataFrameSequence.from_tfrecords(tmp_path / "out")
