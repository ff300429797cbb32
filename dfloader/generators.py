"""``fit_generator``, ``evaluate_generator``, ``predict_generator`` of Keras 2, for any Keras.

Contract (Keras 2's, where Keras 3 does otherwise):
1. Every epoch has all its ``steps_per_epoch``; a sequence goes on where the last epoch stopped.
2. Every evaluation of a sequence starts at its first batch. A Python generator cannot start
   again: each evaluation takes its next ``validation_steps`` batches.
3. ``class_weight`` multiplies the weights a batch carries.
4. Lists in a batch mean what tuples mean.

A model of tf_keras does all the work itself.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import tensorflow as tf

from dfloader.backend import keras
from dfloader.class_weights import weigh_batch, weigh_dataset
from dfloader.feeds import (
    Adapt,
    Batch,
    Locked,
    Pool,
    Turns,
    View,
    adapted,
    batch_count,
    endless,
    inputs_without_lists,
    pool_of,
    without_lists,
)


def fit_generator(
    model: Any,
    generator: Any,
    steps_per_epoch: int | None = None,
    epochs: int = 1,
    verbose: Any = 1,
    callbacks: Any = None,
    validation_data: Any = None,
    validation_steps: int | None = None,
    validation_freq: Any = 1,
    class_weight: Mapping[int, float] | None = None,
    max_queue_size: int = 10,
    workers: int = 1,
    use_multiprocessing: bool = False,
    shuffle: bool = True,
    initial_epoch: int = 0,
) -> Any:
    """Train a model on batches from a sequence, a dataset or a Python generator.

    Args:
        generator: a Keras ``Sequence``/``PyDataset`` (or any object with ``__getitem__`` and
            ``__len__``), a ``tf.data.Dataset``, or a Python generator.
        steps_per_epoch: batches an epoch. None: the length of the generator.
        workers: for this call, instead of what the sequence says, where it is not the default.
        use_multiprocessing: likewise.
        max_queue_size: likewise.
        shuffle: permute the batches of a sequence each epoch.

    Returns:
        The ``History``.

    Raises:
        ValueError: a Python generator without ``steps_per_epoch`` and several epochs, or as
            ``validation_data`` without ``validation_steps``.

    Examples:
        >>> import keras, numpy as np
        >>> from dfloader import fit_generator
        >>> model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
        >>> model.compile(loss="mse")
        >>> batches = ([np.ones((2, 1)), np.ones(2)] for _ in range(6))
        >>> history = fit_generator(model, batches, steps_per_epoch=3, epochs=2, verbose=0)
        >>> history.epoch
        [0, 1]
    """
    words = {
        "steps_per_epoch": steps_per_epoch,
        "epochs": epochs,
        "verbose": verbose,
        "validation_freq": validation_freq,
        "initial_epoch": initial_epoch,
    }
    pool = Pool(workers, use_multiprocessing, max_queue_size)
    if _is_keras2(model):
        words |= {"validation_data": validation_data, "validation_steps": validation_steps}
        words |= {"class_weight": class_weight, "callbacks": callbacks, "shuffle": shuffle}
        return model.fit(_keras2(generator), **words, **vars(pool))
    feed = partial(_training_feed, generator, steps_per_epoch, epochs - initial_epoch)
    with (
        _validation_feed(validation_data, validation_steps, pool) as (validation, steps, marks),
        feed(class_weight, pool, shuffle) as (x, shuffle_batches),
    ):
        return model.fit(
            x,
            validation_data=validation,
            validation_steps=steps,
            callbacks=_with_marks(callbacks, marks),
            shuffle=shuffle_batches,
            **words,
        )


def evaluate_generator(
    model: Any,
    generator: Any,
    steps: int | None = None,
    callbacks: Any = None,
    max_queue_size: int = 10,
    workers: int = 1,
    use_multiprocessing: bool = False,
    verbose: Any = 0,
) -> Any:
    """Evaluate a model; arguments as `fit_generator`'s, the result as ``Model.evaluate``'s."""
    pool = Pool(workers, use_multiprocessing, max_queue_size)
    words = {"callbacks": callbacks, "verbose": verbose}
    if _is_keras2(model):
        return model.evaluate(_keras2(generator), steps=steps, **words, **vars(pool))
    with _finite_feed(generator, steps, without_lists, pool) as (x, left):
        return model.evaluate(x, steps=left, **words)


def predict_generator(
    model: Any,
    generator: Any,
    steps: int | None = None,
    callbacks: Any = None,
    max_queue_size: int = 10,
    workers: int = 1,
    use_multiprocessing: bool = False,
    verbose: Any = 0,
) -> Any:
    """Predict; arguments as `fit_generator`'s, the result as ``Model.predict``'s.

    A list with one array for each of the model's inputs is those inputs; else a batch's first
    item is the input.
    """
    pool = Pool(workers, use_multiprocessing, max_queue_size)
    words = {"callbacks": callbacks, "verbose": verbose}
    if _is_keras2(model):
        return model.predict(_keras2(generator), steps=steps, **words, **vars(pool))
    inputs = len(getattr(model, "inputs", None) or ())
    with _finite_feed(generator, steps, partial(inputs_without_lists, inputs=inputs), pool) as (
        x,
        left,
    ):
        return model.predict(x, steps=left, **words)


def install() -> None:
    """Add the three functions to ``keras.Model`` as methods, where it lacks them."""
    for function in (fit_generator, evaluate_generator, predict_generator):
        if not hasattr(keras.Model, function.__name__):
            setattr(keras.Model, function.__name__, function)


def _is_keras2(model: Any) -> bool:
    """Whether ``model`` is of tf_keras: there ``predict`` takes the workers itself."""
    return "workers" in inspect.signature(model.predict).parameters


def _keras2(generator: Any) -> Any:
    if any(base.__name__ == "PyDataset" for base in type(generator).__mro__):
        raise TypeError(
            f"{type(generator).__name__} is a PyDataset of Keras 3, the model is of tf_keras. "
            "Set TF_USE_LEGACY_KERAS=1 before Python starts, so that both are of tf_keras."
        )
    return generator


def _is_sequence(source: Any) -> bool:
    sized = hasattr(source, "__len__") or hasattr(source, "num_batches")
    return hasattr(source, "__getitem__") and sized


@contextmanager
def _training_feed(
    generator: Any,
    steps: int | None,
    epochs: int,
    class_weight: Mapping[int, float] | None,
    given: Pool,
    shuffle: bool,
) -> Iterator[tuple[Any, bool]]:
    """Yield what ``fit`` gets as x, and whether it shall permute the batches."""
    adapt = _weighing(class_weight)
    if isinstance(generator, tf.data.Dataset):
        yield _dataset(generator, steps, class_weight), False
    elif _is_sequence(generator):
        with pool_of(generator, given) as pool:
            if steps in (None, batch_count(generator)) or batch_count(generator) is None:
                view = View(generator, adapt, pool)
                yield view, shuffle and view.num_batches is not None
            else:
                stream = Locked(endless(generator, pool, shuffle))
                try:
                    yield adapted(stream, adapt, steps * epochs), False
                finally:
                    stream.close()
    elif hasattr(generator, "__next__"):
        yield adapted(generator, adapt, _total(steps, epochs)), False
    else:
        yield generator, False


@contextmanager
def _finite_feed(
    source: Any, steps: int | None, adapt: Adapt, given: Pool
) -> Iterator[tuple[Any, int | None]]:
    """Yield what ``evaluate`` gets as x, and the steps that its length does not say."""
    if isinstance(source, tf.data.Dataset):
        yield _dataset(source, steps, None), steps
    elif _is_sequence(source):
        with pool_of(source, given) as pool:
            yield View(source, adapt, pool, steps), None
    elif hasattr(source, "__next__"):
        yield adapted(source, adapt, steps), steps
    else:
        yield source, steps


@contextmanager
def _validation_feed(
    data: Any, steps: int | None, given: Pool
) -> Iterator[tuple[Any, int | None, list[Any]]]:
    """Yield validation data for ``fit``, its steps, and the callbacks that go with it.

    Keras 3.3 and 3.6 run out of data in the second evaluation where they are told steps; the length
    of the data says the same.
    """
    if isinstance(data, list | tuple):
        yield tuple(data), steps, []
    elif data is None or _is_sequence(data) or isinstance(data, tf.data.Dataset):
        with _finite_feed(data, steps, without_lists, given) as (feed, left):
            yield feed, left, []
    elif hasattr(data, "__next__"):
        turns = Turns(data, without_lists, _needed(steps))
        begin = keras.callbacks.LambdaCallback(on_test_begin=lambda logs: turns.begin())
        yield turns, None, [begin]
    else:
        yield data, steps, []


def _total(steps: int | None, epochs: int) -> int | None:
    if steps is None and epochs > 1:
        raise ValueError(
            f"A Python generator has no length, and {epochs} epochs need one: set "
            "steps_per_epoch, or pass a Sequence."
        )
    return None if steps is None else steps * epochs


def _needed(validation_steps: int | None) -> int:
    if validation_steps is None:
        raise ValueError(
            "validation_data is a Python generator, which has no length: set validation_steps."
        )
    return validation_steps


def _with_marks(callbacks: Any, marks: list[Any]) -> Any:
    if not marks:
        return callbacks
    if hasattr(callbacks, "append") and not isinstance(callbacks, list):  # a CallbackList
        for mark in marks:
            callbacks.append(mark)
        return callbacks
    given = callbacks if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else []
    return [*given, *marks]


def _dataset(dataset: Any, steps: int | None, class_weight: Mapping[int, float] | None) -> Any:
    weighed = weigh_dataset(dataset, class_weight) if class_weight else dataset
    return weighed if steps is None else weighed.repeat()


def _weighing(class_weight: Mapping[int, float] | None) -> Adapt:
    return partial(_weigh, class_weight=class_weight) if class_weight else without_lists


def _weigh(batch: Batch, class_weight: Mapping[int, float]) -> Batch:
    return weigh_batch(without_lists(batch), class_weight)
