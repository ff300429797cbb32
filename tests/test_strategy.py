"""MultiWorkerMirroredStrategy: two processes of this machine train one model."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dfloader import write_tfrecords

ROOT = Path(__file__).parent.parent

TRAINING = """
import json, os, sys, time
from pathlib import Path
import pandas as pd
import tensorflow as tf
import tf_keras as keras

strategy = tf.distribute.MultiWorkerMirroredStrategy()
from dfloader import DataFrameSequence, read_tfrecords, to_tf_dataset

frame, records, out = sys.argv[1:]
reading = {"target_size": (8, 8), "seed": 3, "rescale": 1 / 255}

def from_records(context):
    size = context.get_per_replica_batch_size(4)
    return read_tfrecords(records, size, input_context=context, **reading)

def from_frame(context):
    size = context.get_per_replica_batch_size(4)
    said = {"y_col": "count", "class_mode": "raw", **reading}
    return to_tf_dataset(pd.read_pickle(frame), size, input_context=context, **said)

passes = []
for make in (from_frame, from_records):
    ds = strategy.distribute_datasets_from_function(make)
    for _ in range(2):
        ys = [strategy.experimental_local_results(y)[0].numpy() for _, y in ds]
        passes.append([int(each) for y in ys for each in y])
with strategy.scope():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
history = model.fit(ds, epochs=2, steps_per_epoch=5, verbose=0)
index = strategy.cluster_resolver.task_id
result = {"passes": passes, "loss": history.history["loss"]}

class Noting(keras.Sequential):
    def train_step(self, data):
        tf.py_function(lambda y: trained.extend([y.numpy().ravel().tolist()]), [data[1]], [])
        return super().train_step(data)

trained = []
with strategy.scope():
    noting = Noting([keras.layers.Flatten(), keras.layers.Dense(1)])
    noting.compile("sgd", "mse")
said = {"y_col": "count", "class_mode": "raw", **reading}
for name, data in (
    ("dataset", to_tf_dataset(pd.read_pickle(frame), 4, **said)),
    ("records", read_tfrecords(records, 4, **reading)),
    ("sequence", DataFrameSequence(pd.read_pickle(frame), 4, **said)),
):
    trained.clear()
    noting.fit(data, epochs=2, shuffle=name == "sequence", verbose=0)
    result[name] = list(trained)
result["weights"] = [w.ravel().tolist() for w in model.get_weights()]
Path(out, f"{index}.part").write_text(json.dumps(result))
Path(out, f"{index}.part").rename(Path(out, f"{index}.json"))
# TensorFlow's threads of the cluster do not end with the interpreter, and a worker that is alone
# fails: each waits for the other and then leaves.
while not Path(out, f"{1 - index}.json").exists():
    time.sleep(0.1)
os._exit(0)
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def test_u144_u145_u147_two_processes_train_one_model_on_disjoint_rows(
    df: pd.DataFrame, tmp_path: Path
) -> None:
    frame, records = tmp_path / "df.pkl", tmp_path / "records"
    df.to_pickle(frame)
    write_tfrecords(df, records, shards=3, y_col="count", class_mode="raw")
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    processes = []
    for index in range(2):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        env = {**os.environ, "TF_CONFIG": json.dumps(config), "TF_USE_LEGACY_KERAS": "1"}
        command = [sys.executable, "-c", TRAINING, str(frame), str(records), str(tmp_path)]
        processes.append(subprocess.Popen(command, env=env, cwd=ROOT))
    try:
        assert [process.wait(150) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    one, two = (json.loads((tmp_path / f"{index}.json").read_text()) for index in range(2))
    for mine, theirs in zip(one["passes"], two["passes"], strict=True):
        assert len(mine) == len(theirs) == 10
        assert sorted(mine + theirs) == list(range(20))
    assert len({tuple(each) for each in one["passes"]}) == 4
    assert one["loss"] == two["loss"]
    for a, b in zip(one["weights"], two["weights"], strict=True):
        np.testing.assert_array_equal(a, b)
    # Each is given the whole, as one process would be: 4 rows are the batch of both together.
    for name in ("dataset", "records", "sequence"):
        for epoch in (slice(0, 5), slice(5, 10)):
            mine, theirs = one[name][epoch], two[name][epoch]
            assert {len(batch) for batch in mine + theirs} == {2}
            assert sorted(y for batch in mine + theirs for y in batch) == list(range(20))
        assert len(one[name]) == len(two[name]) == 10
