"""`flow_from_dataframe` against the originals, over drawn configurations.

The oracle is Keras' own copy for its generator and for none, keras-preprocessing's for its own.
Everything must be equal: printed line, warnings, errors, attributes, order, labels, weights,
dtypes, shapes, saved files; pixels to the bit unless scipy interpolated, then within a level.
"""

import contextlib
import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from keras.src.legacy.preprocessing import image as k3
from legacy_drawn import Drawn, leave_out_what_the_originals_do_not_share, write_pictures

from dfloader import flow_from_dataframe

CONFIGURATIONS = 440
ATTRIBUTES = (
    *("filenames", "filepaths", "classes", "labels", "class_indices", "samples", "n"),
    *("batch_size", "batch_index", "index_array", "total_batches_seen", "image_shape"),
    *("target_size", "color_mode", "data_format", "directory", "class_mode", "subset", "split"),
    *("sample_weight", "shuffle", "seed", "dtype", "save_to_dir", "save_prefix", "save_format"),
    *("interpolation", "white_list_formats", "allowed_class_modes"),
)
OURS_ONLY = ("flow_from_dataframe does not know", "The validation cut takes", "keeps your order")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("legacy")
    write_pictures(folder)
    return folder


def original(drawn, frame, words):
    if drawn.kind == "none":
        return k3.DataFrameIterator(frame, image_data_generator=None, **words)
    return drawn.generator().flow_from_dataframe(frame, **words)


def ours(drawn, frame, words):
    return flow_from_dataframe(frame, image_data_generator=drawn.generator(), **words)


def observe(make, drawn, tmp):
    """Build twice and run two passes by index and two by ``next``; note all that can be seen."""
    seen = {}
    words = dict(drawn.words)
    if drawn.number % 5 == 0:
        tmp.mkdir()
        words |= {"save_to_dir": str(tmp), "save_prefix": "x"}
    frame = drawn.frame.copy()
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            seen["batches"] = []
            for run in (by_index, by_next):
                np.random.seed(drawn.number)
                run(make(drawn, frame, words), seen)
        except Exception as error:
            seen["error"] = type(error), re.sub(r"0x\w+|\{.*\}", "", str(error))
    seen["printed"] = printed.getvalue()
    seen["warnings"] = {(w.category.__name__, plain(str(w.message))) for w in caught}
    seen["files"] = sorted(path.name for path in tmp.iterdir()) if tmp.exists() else []
    pd.testing.assert_frame_equal(frame, drawn.frame)
    return seen


def by_index(iterator, seen):
    seen["before"] = attributes(iterator)
    for _ in range(2):
        seen["batches"] += [iterator[i] for i in range(len(iterator))]
        iterator.on_epoch_end()
    seen["behind"] = outcome(lambda: iterator[len(iterator)])
    seen["minus"] = np.shape(first_of(iterator[-1])) if len(iterator) else None
    seen["after index"] = attributes(iterator)


def by_next(iterator, seen):
    for _ in range(2 * len(iterator)):
        seen["batches"].append(next(iterator))
    seen["batches"].append(next(iterator))
    iterator.reset()
    seen["batches"].append(next(iterator))
    seen["after next"] = attributes(iterator)


def outcome(act):
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def first_of(batch):
    return batch[0] if isinstance(batch, tuple) else batch


def attributes(iterator):
    values = {name: outcome(lambda name=name: getattr(iterator, name)) for name in ATTRIBUTES}
    # Scripts meet the names; the class's own name inside a message is not one of them.
    return {name: AttributeError if is_missing(value) else value for name, value in values.items()}


def is_missing(value):
    return isinstance(value, tuple) and len(value) == 2 and value[0] is AttributeError


def plain(text):
    """Cut off what dfloader adds to the original's warning about files."""
    return re.sub(r"(will be ignored\.).*", r"\1", text)


def common(seen):
    """Leave out what dfloader adds, scipy's complaint about the original, and after an error
    those of the images that the original did first."""
    other = (*OURS_ONLY, "scipy.ndimage.interpolation", *["been fit"] * ("error" in seen))
    return {w for w in seen["warnings"] if not any(part in w[1] for part in other)}


def assert_equal(left, right):
    """Compare two values of any kind, types included; extension arrays by their values."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_equal(one, other)
    elif isinstance(left, pd.api.extensions.ExtensionArray):
        assert isinstance(right, np.ndarray)
        pd.testing.assert_series_equal(pd.Series(list(left)), pd.Series(list(right)))
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        same = left.dtype == object and pd.DataFrame(left).equals(pd.DataFrame(right))
        assert same or np.array_equal(left, right)
    else:
        assert type(left) is type(right)
        assert left == right


def assert_images(left, right, drawn):
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    words = drawn.generator_words
    if left.size == 0 or drawn.kind == "none" or not words.keys() & AUGMENTING:
        np.testing.assert_array_equal(left, right)
        return
    level = abs(words.get("rescale", 1.0)) if not words.keys() & NORMALISING else 0.05
    difference = np.abs(left - right) / level
    away = difference <= 1
    assert away.mean() >= (0.99 if words.get("fill_mode") == "constant" else 1)
    assert not away.any() or difference[away].mean() < 0.05


AUGMENTING = {
    *("rotation_range", "width_shift_range", "height_shift_range", "shear_range", "zoom_range"),
    "channel_shift_range",
}
NORMALISING = {"samplewise_std_normalization", "featurewise_std_normalization"}


def assert_same_batches(left, right, drawn):
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        if drawn.words["class_mode"] is None:
            assert_images(one, other, drawn)
            continue
        assert isinstance(other, tuple)
        assert len(one) == len(other)
        assert_images(one[0], other[0], drawn)
        if drawn.words["class_mode"] == "input":
            np.testing.assert_array_equal(other[1], other[0])
            assert other[1] is not other[0]
        else:
            assert_equal(one[1], other[1])
        assert_equal(one[2:], other[2:])


@pytest.mark.parametrize("number", range(CONFIGURATIONS))
def test_drawn_configuration_equals_the_original(number, pictures, tmp_path):
    drawn = Drawn(number, pictures)
    leave_out_what_the_originals_do_not_share(drawn)
    expected = observe(original, drawn, tmp_path / "original")
    got = observe(ours, drawn, tmp_path / "ours")
    for word in ("error", "printed", "files", "behind", "minus"):
        assert got.get(word) == expected.get(word), word
    assert common(got) == common(expected)
    for word in ("before", "after index", "after next"):
        for name, value in expected.get(word, {}).items():
            if name != "save_to_dir":
                assert_equal(value, got[word][name])
    assert_same_batches(expected["batches"], got["batches"], drawn)
