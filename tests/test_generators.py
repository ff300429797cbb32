"""The Keras 2 generator methods on Keras 3, and on tf_keras in processes of their own."""

import os
import subprocess
import sys
import textwrap
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from dfloader import (
    DataFrameSequence,
    evaluate_generator,
    fit_generator,
    generators,
    predict_generator,
)
from dfloader.class_weights import weigh_batch, weigh_dataset
from dfloader.feeds import Pool, endless, pool_of


class Numbers(keras.utils.PyDataset):
    """Batch i of n holds the number i twice; remembers what was asked and which hooks ran."""

    def __init__(self, n=5, weights=False, **keywords):
        super().__init__(**keywords)
        self.n, self.weights, self.events = n, weights, []

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        x = np.full((2, 1), index, np.float32)
        return (x, x[:, 0], x[:, 0] + 1) if self.weights else (x, x[:, 0])

    def on_epoch_begin(self):
        self.events.append("begin")

    def on_epoch_end(self):
        self.events.append("end")


class OldNumbers:
    """A class of Keras 2 times: no base class of Keras 3, no call of super().__init__()."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return [np.full((2, 1), index, np.float32), np.full(2, index, np.float32)]


class Unready(keras.utils.PyDataset):
    def __init__(self):
        self.threads = set()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.threads.add(threading.current_thread().name)
        return np.full((2, 1), index, np.float32), np.zeros(2, np.float32)


class Seen(keras.Model):
    """A model that notes the number in every batch it is trained and tested on."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.trained, self.tested, self.weights_seen = [], [], []

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        self.trained.append(int(data[0][0, 0]))
        if len(data) == 3:
            self.weights_seen.append(data[2].numpy().tolist())
        return super().train_step(data)

    def test_step(self, data):
        self.tested.append(int(data[0][0, 0]))
        return super().test_step(data)


@pytest.fixture
def model():
    seen = Seen()
    seen.compile(loss="mse", run_eagerly=True)
    return seen


def numbers_for_ever():
    i = 0
    while True:
        yield [np.full((2, 1), i, np.float32), np.full(2, i, np.float32)]
        i += 1


def test_steps_per_epoch_below_the_length_trains_every_epoch_in_full_and_goes_on(model):
    history = fit_generator(model, Numbers(5), 2, epochs=4, shuffle=False, verbose=0)
    assert model.trained == [0, 1, 2, 3, 4, 0, 1, 2]
    assert history.epoch == [0, 1, 2, 3]


def test_steps_per_epoch_above_the_length_wraps(model):
    fit_generator(model, Numbers(3), 4, epochs=2, shuffle=False, verbose=0)
    assert model.trained == [0, 1, 2, 0, 1, 2, 0, 1]


def test_sequence_hooks_frame_each_pass_when_epochs_are_shorter():
    sequence = Numbers(3)
    stream = endless(sequence, Pool(), shuffle=False)
    assert [int(next(stream)[0][0, 0]) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert sequence.events == ["begin", "end", "begin", "end", "begin"]


def test_shuffle_permutes_the_batches_of_each_whole_pass(model):
    keras.utils.set_random_seed(3)
    fit_generator(model, Numbers(8), 4, epochs=4, verbose=0)
    first, second = model.trained[:8], model.trained[8:]
    assert sorted(first) == sorted(second) == list(range(8))
    assert first != second
    assert first != list(range(8))


@pytest.mark.parametrize("processes", [False, True])
def test_workers_keep_the_order_over_short_epochs(model, processes):
    words = {"workers": 2, "use_multiprocessing": processes, "max_queue_size": 3}
    fit_generator(model, Numbers(5), 2, epochs=5, shuffle=False, verbose=0, **words)
    assert model.trained == [0, 1, 2, 3, 4] * 2


@pytest.mark.parametrize("processes", [False, True])
def test_workers_train_each_batch_once_an_epoch(model, processes):
    words = {"workers": 2, "use_multiprocessing": processes}
    fit_generator(model, Numbers(5), epochs=2, verbose=0, **words)
    assert sorted(model.trained[:5]) == sorted(model.trained[5:]) == [0, 1, 2, 3, 4]


def test_u087_no_thread_stays_after_training(model):
    before = threading.active_count()
    fit_generator(model, Numbers(5), 2, epochs=3, workers=3, verbose=0)
    assert not [t.name for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]
    assert threading.active_count() <= before + 1


def test_u096_workers_are_set_for_the_call_and_put_back(model):
    during = []
    look = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: during.append(
            (sequence.workers, sequence.max_queue_size)
        )
    )
    sequence = Numbers(5, max_queue_size=7)
    fit_generator(model, sequence, workers=2, callbacks=[look], verbose=0)
    assert during == [(2, 7)]
    assert (sequence.workers, sequence.max_queue_size) == (1, 7)


def test_the_sequence_keeps_its_own_workers_where_the_call_says_nothing(model):
    during = []
    look = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: during.append(sequence.workers)
    )
    sequence = Numbers(5, workers=3)
    fit_generator(model, sequence, callbacks=look, verbose=0)
    assert during == [3]


def test_class_without_super_init_trains_without_a_warning(model):
    sequence = Unready()
    fit_generator(model, sequence, workers=2, verbose=0, shuffle=False)
    assert model.trained == [0, 1, 2, 3]


def test_object_with_getitem_and_len_and_list_batches_trains(model):
    fit_generator(model, OldNumbers(), epochs=2, shuffle=False, verbose=0)
    assert model.trained == [0, 1, 2, 3] * 2
    assert evaluate_generator(model, OldNumbers()) >= 0
    assert predict_generator(model, OldNumbers()).shape == (8, 1)


def test_plain_generator_with_lists_trains_and_no_batch_is_lost(model):
    batches = numbers_for_ever()
    fit_generator(model, batches, steps_per_epoch=3, epochs=2, verbose=0)
    assert model.trained == [0, 1, 2, 3, 4, 5]
    assert next(batches)[0][0, 0] == 6


def test_initial_epoch_counts_the_epochs_left(model):
    batches = numbers_for_ever()
    fit_generator(model, batches, 2, epochs=5, initial_epoch=3, verbose=0)
    assert model.trained == [0, 1, 2, 3]


def test_plain_generator_without_steps_is_one_epoch_only(model):
    with pytest.raises(ValueError, match="set steps_per_epoch"):
        fit_generator(model, numbers_for_ever(), epochs=2)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_finite_generator_without_steps_trains_one_epoch(model):
    fit_generator(model, (OldNumbers()[i] for i in range(4)), verbose=0)
    assert model.trained == [0, 1, 2, 3]


def test_dataset_with_steps_per_epoch_goes_on_where_it_stopped(model):
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(5.0), np.arange(5.0))).batch(1)
    dataset = dataset.map(lambda x, y: (tf.reshape(x, (1, 1)), y))
    fit_generator(model, dataset, steps_per_epoch=2, epochs=4, verbose=0)
    assert model.trained == [0, 1, 2, 3, 4, 0, 1, 2]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_evaluation_of_a_sequence_starts_at_its_first_batch(model, workers):
    words = {"validation_data": Numbers(5), "validation_steps": 2, "workers": workers}
    history = fit_generator(model, Numbers(2), epochs=3, verbose=0, **words)
    assert model.tested == [0, 1] * 3
    assert len(history.history["val_loss"]) == 3


def test_validation_steps_above_the_length_start_over(model):
    words = {"validation_data": Numbers(2), "validation_steps": 5}
    fit_generator(model, Numbers(2), epochs=2, verbose=0, **words)
    assert model.tested == [0, 1, 0, 1, 0] * 2


def test_validation_generator_gives_its_next_batches_and_loses_none(model):
    words = {"validation_data": numbers_for_ever(), "validation_steps": 3}
    fit_generator(model, Numbers(2), epochs=3, verbose=0, **words)
    assert model.tested == list(range(9))


def test_validation_generator_of_one_step_is_not_read_ahead(model):
    validation = numbers_for_ever()
    fit_generator(
        model, Numbers(2), epochs=2, verbose=0, validation_data=validation, validation_steps=1
    )
    assert model.tested == [0, 1]
    assert next(validation)[0][0, 0] == 2


def test_validation_freq_skips_evaluations(model):
    words = {"validation_data": Numbers(2), "validation_freq": 2}
    fit_generator(model, Numbers(2), epochs=4, verbose=0, **words)
    assert model.tested == [0, 1] * 2


def test_validation_generator_without_steps_names_the_argument(model):
    with pytest.raises(ValueError, match="set validation_steps"):
        fit_generator(model, Numbers(2), validation_data=numbers_for_ever())


def test_validation_generator_that_ends_says_so(model):
    few = (batch for batch in [next(numbers_for_ever())] * 3)
    with pytest.raises(Exception, match="every evaluation needs 2 more batches"):
        fit_generator(
            model, Numbers(2), epochs=3, verbose=0, validation_data=few, validation_steps=2
        )


def test_validation_arrays_pass_through(model):
    arrays = [np.full((2, 1), 7, np.float32), np.zeros(2, np.float32)]
    fit_generator(model, Numbers(2), verbose=0, validation_data=arrays)
    assert model.tested == [7]


def test_class_weight_multiplies_the_weights_of_the_batch(model):
    sequence = Numbers(3, weights=True)
    fit_generator(model, sequence, class_weight={1: 10.0, 2: 0.5}, shuffle=False, verbose=0)
    assert model.weights_seen == [[1, 1], [20, 20], [1.5, 1.5]]


def test_class_weight_works_for_plain_generators(model):
    weight = {0: 4.0, 1: 3.0}
    fit_generator(model, numbers_for_ever(), 3, class_weight=weight, verbose=0)
    assert model.weights_seen == [[4, 4], [3, 3], [1, 1]]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([0, 1, 2]), [2, 3, 1]),
        (np.array([[0.0], [1.0], [5.0]]), [2, 3, 1]),
        (np.eye(3, dtype=np.float32), [2, 3, 1]),
        (np.array([[[0], [1]], [[1], [1]], [[0], [9]]]), [[2, 3], [3, 3], [2, 1]]),
    ],
)
def test_class_weights_by_kind_of_target_are_equal_in_numpy_and_tf_data(y, expected):
    own = np.array([1, 2, 0.5], np.float32)
    batch = (np.zeros((3, 1), np.float32), y, own)
    column = own.reshape(-1, *[1] * (np.ndim(expected) - 1))
    dataset = weigh_dataset(tf.data.Dataset.from_tensors(batch), {0: 2.0, 1: 3.0})
    (from_tf,) = [w.numpy() for _, _, w in dataset]
    np.testing.assert_array_equal(weigh_batch(batch, {0: 2.0, 1: 3.0})[2], expected * column)
    np.testing.assert_array_equal(from_tf, expected * column)


def test_class_weight_with_several_outputs_says_what_to_use():
    with pytest.raises(ValueError, match="weight_col"):
        weigh_batch((np.zeros(2), (np.zeros(2), np.zeros(2))), {0: 1.0})


def test_prediction_keeps_the_order_and_stops_at_steps(model):
    keras.utils.set_random_seed(0)
    ordered = predict_generator(model, Numbers(5), workers=3)
    np.testing.assert_allclose(np.diff(ordered[::2, 0]), ordered[2, 0] - ordered[0, 0], rtol=1e-5)
    np.testing.assert_allclose(predict_generator(model, Numbers(5), steps=2), ordered[:4])
    np.testing.assert_allclose(
        predict_generator(model, Numbers(2), steps=3), ordered[[0, 1, 2, 3, 0, 1]], rtol=1e-6
    )


def test_prediction_reads_exactly_its_steps_from_a_generator(model):
    batches = (batch[0] for batch in numbers_for_ever())
    assert predict_generator(model, batches, steps=3).shape == (6, 1)
    assert next(batches)[0, 0] == 3


def test_prediction_reads_a_list_as_several_inputs():
    inputs = [keras.Input((1,)), keras.Input((1,))]
    adding = keras.Model(inputs, keras.layers.Add()(inputs))
    batches = ([np.full((2, 1), i), np.full((2, 1), 10.0)] for i in range(3))
    assert predict_generator(adding, batches, steps=3)[:, 0].tolist() == [10, 10, 11, 11, 12, 12]


def test_evaluation_of_a_generator_is_that_of_its_batches(model):
    assert evaluate_generator(model, numbers_for_ever(), steps=4) == pytest.approx(
        evaluate_generator(model, Numbers(4))
    )
    assert model.tested == [0, 1, 2, 3] * 2


def test_error_in_a_worker_reaches_the_caller(model):
    class Broken(Numbers):
        def __getitem__(self, index):
            if index == 3:
                raise RuntimeError("row 6 is broken")
            return super().__getitem__(index)

    with pytest.raises(Exception, match="row 6 is broken"):
        fit_generator(model, Broken(5), 2, epochs=3, workers=2, shuffle=False, verbose=0)


def test_sequence_without_batches_is_an_error(model):
    with pytest.raises(ValueError, match="has no batches"):
        fit_generator(model, Numbers(0), steps_per_epoch=2)


def test_install_gives_every_kind_of_model_the_methods():
    generators.install()
    sequential = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    inputs = keras.Input((1,))
    functional = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    for model in (sequential, functional, Seen()):
        model.compile(loss="mse", run_eagerly=True)
        model.fit_generator(Numbers(3), steps_per_epoch=2, epochs=2, verbose=0)
        assert np.isfinite(model.evaluate_generator(Numbers(3)))
        assert model.predict_generator(Numbers(3)).shape == (6, 1)


def test_install_leaves_what_is_there(monkeypatch):
    mine = object()
    monkeypatch.setattr(keras.Model, "fit_generator", mine, raising=False)
    generators.install()
    assert keras.Model.fit_generator is mine


@pytest.fixture
def sequence(df):
    with DataFrameSequence(
        df, 4, y_col="count", class_mode="raw", target_size=(8, 8), seed=0
    ) as sequence:
        yield sequence


@pytest.fixture
def pixel_model():
    model = keras.Sequential(
        [keras.layers.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(1)]
    )
    model.compile(loss="mse", run_eagerly=True)
    return model


def rows_trained(model):
    rows, step = [], model.train_step
    model.train_step = lambda data: rows.extend(data[1].numpy().tolist()) or step(data)
    return rows


@pytest.mark.parametrize("words", [{}, {"workers": 2, "use_multiprocessing": True}])
def test_u096_the_readmes_call_trains_each_row_once_an_epoch(sequence, pixel_model, words):
    rows = rows_trained(pixel_model)
    pixel_model.fit_generator(sequence, epochs=2, verbose=0, **words)
    assert sorted(rows[:20]) == sorted(rows[20:]) == list(range(20))
    assert rows[:20] != rows[20:]


def test_short_epochs_go_through_the_frame_and_on_to_its_next_order(sequence, pixel_model):
    rows = rows_trained(pixel_model)
    expected = []
    for epoch in (0, 1):
        sequence.set_epoch(epoch)
        expected += [row for i in range(5) for row in sequence.rows(i).tolist()]
    sequence.set_epoch(0)
    pixel_model.fit_generator(sequence, steps_per_epoch=3, epochs=3, shuffle=False, verbose=0)
    assert rows == expected[:36]


def test_what_a_sequence_was_told_of_workers_is_put_back(df):
    told = {"workers": 3, "use_multiprocessing": True, "max_queue_size": 4}
    with DataFrameSequence(df, 4, **told) as sequence:
        before = sequence.staff
        with pool_of(sequence, Pool(workers=1)) as pool:
            assert sequence.staff == before
            assert pool == Pool(3, False, 4)  # the processes are the sequence's own affair
        with pool_of(sequence, Pool(workers=2, max_queue_size=5)):
            assert (sequence.staff.workers, sequence.staff.use_multiprocessing) == (2, True)
        assert sequence.staff == before


def test_importing_the_sequence_adds_the_methods_and_the_core_does_not():
    code = "import {}, keras; print(hasattr(keras.Model, 'fit_generator'))"
    for module, expected in (("dfloader.workers", "False"), ("dfloader.sequence", "True")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True
        )
        assert done.stdout.split()[-1] == expected


LEGACY_PRELUDE = """
import warnings
import numpy as np
import tf_keras
from dfloader import backend, fit_generator, evaluate_generator, predict_generator, generators

class Numbers(backend.Sequence):
    def __len__(self):
        return 5
    def __getitem__(self, index):
        x = np.full((2, 1), index, np.float32)
        return x, x[:, 0], x[:, 0] + 1

model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(1,))])
model.compile(loss="mse")
"""


def run_legacy(code):
    script = LEGACY_PRELUDE + textwrap.dedent(code)
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_tf_keras_trains_with_the_functions_and_keeps_its_methods():
    out = run_legacy("""
        built_in = tf_keras.Model.fit_generator
        generators.install()
        assert tf_keras.Model.fit_generator is built_in
        assert issubclass(Numbers, tf_keras.utils.Sequence)
        words = {"validation_data": Numbers(), "validation_steps": 3, "verbose": 0}
        history = fit_generator(model, Numbers(), 2, epochs=4, **words)
        print(history.epoch, len(history.history["val_loss"]))
        print(predict_generator(model, Numbers()).shape, evaluate_generator(model, Numbers()) >= 0)
    """)
    assert out.splitlines()[-2:] == ["[0, 1, 2, 3] 4", "(10, 1) True"]


def test_keras_3_sequence_with_a_tf_keras_model_says_what_to_set():
    out = run_legacy("""
        import keras
        class Three(keras.utils.PyDataset):
            pass
        try:
            fit_generator(model, Three())
        except TypeError as error:
            print(error)
    """)
    assert "Set TF_USE_LEGACY_KERAS=1 before Python starts" in out


def test_missing_tf_keras_names_the_extra():
    code = """
import sys
sys.modules["tf_keras"] = None
try:
    import dfloader.backend
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TF_USE_LEGACY_KERAS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'pip install "dfloader[legacy]"' in done.stdout
