"""tf.data service: several machines decode for one that trains. The engine is TensorFlow's.

A dispatcher knows the workers and deals an epoch's files or rows out to them; a worker runs the
pipeline. What they run is a graph without Python, so that they need TensorFlow and see the files,
and nothing else: neither this package nor the frame.
"""

import signal

import tensorflow as tf

from dfloader.batch import Loader
from dfloader.layers import Layers

_SCHEME = "grpc"
# A worker that says nothing for so long is dead, and gets no more work until it is back.
_SILENCE_MS = 10_000
_HEARTBEAT_MS = 2_000


def run_dispatcher(port: int) -> None:
    """Be a dispatcher until killed, after printing the address; port 0 lets the system choose."""
    service = tf.data.experimental.service
    config = service.DispatcherConfig(
        port=port,
        protocol=_SCHEME,
        worker_timeout_ms=_SILENCE_MS,
        job_gc_check_interval_ms=_HEARTBEAT_MS,
    )
    server = service.DispatchServer(config)
    _announce(f"tf.data service dispatcher at {server.target}")
    server.join()


def run_worker(dispatcher: str, port: int, address: str | None = None) -> None:
    """Be a worker until killed.

    Args:
        dispatcher: its address, with or without ``grpc://``.
        port: to listen at; 0 lets the system choose.
        address: under which others reach this worker, host:port; None: localhost.
    """
    service = tf.data.experimental.service
    server = service.WorkerServer(
        service.WorkerConfig(
            dispatcher_address=dispatcher.removeprefix(f"{_SCHEME}://"),
            worker_address=address,
            port=port,
            protocol=_SCHEME,
            heartbeat_interval_ms=_HEARTBEAT_MS,
        )
    )
    _announce(f"tf.data service worker of {dispatcher}")
    server.join()


def _announce(words: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # join() does not come back to Python for Ctrl-C
    print(words, flush=True)


def distributed(
    ds: "tf.data.Dataset", loader: Loader, address: str, *, layers: Layers, repeat: bool
) -> "tf.data.Dataset":
    """Have workers run a pipeline, each of them on a share of its source.

    Raises:
        ValueError: the loader asks for what only the process that has it can do.
    """
    _check(loader, layers)
    policy = tf.data.experimental.service.ShardingPolicy.DYNAMIC
    ds = ds.apply(tf.data.experimental.service.distribute(processing_mode=policy, service=address))
    return ds.repeat() if repeat else ds


def _check(loader: Loader, layers: Layers) -> None:
    order = loader.plan.spec
    said = {
        "augment": loader.augment or loader.calls or layers or None,
        "cache": loader.cache,
        "shard": order.shard,
        "samples_per_epoch": order.samples_per_epoch,
        "sampler": loader.plan.chances,
        "loader": loader.table.images.loader,
        "on_error": None if loader.image.on_error == "raise" else "skip",
    }
    for name, value in said.items():
        if value is not None:
            raise ValueError(
                f"service= does not go with {name}=: workers of a tf.data service have neither "
                "this package nor the frame. Leave one of them out."
            )
