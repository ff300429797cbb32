"""The record format: TensorFlow's own reader and writer are the reference."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from dfloader import DecodeError
from dfloader.tfrecord import encode, frame, records

numbers = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda v: np.array(v, np.int64)),
    st.lists(st.floats(width=32, allow_nan=False)).map(lambda v: np.array(v, np.float32)),
    st.binary(max_size=300),
)


def parsed(data: bytes) -> dict[str, Any]:
    """Read an Example with TensorFlow's own parser."""
    features = tf.train.Example.FromString(data).features.feature
    kinds = {"bytes_list": None, "float_list": np.float32, "int64_list": np.int64}
    out = {}
    for name, feature in features.items():
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value
        out[name] = values[0] if kind == "bytes_list" else np.array(values, kinds[kind])
    return out


@given(st.dictionaries(st.text(max_size=20), numbers, max_size=4))
def test_an_example_reads_back_with_tensorflow(features: dict[str, Any]) -> None:
    back = parsed(b"".join(encode(features).parts))
    assert back.keys() == features.keys()
    for name, value in features.items():
        np.testing.assert_array_equal(back[name], value)
        assert type(back[name]) is type(value)


@given(st.dictionaries(st.text(max_size=20), numbers, max_size=4))
def test_starts_say_where_each_content_lies(features: dict[str, Any]) -> None:
    encoded = encode(features)
    data = b"".join(encoded.parts)
    contents = {name: value for name, value in features.items() if isinstance(value, bytes)}
    assert encoded.starts.keys() == contents.keys()
    for name, value in contents.items():
        assert data[encoded.starts[name] :][: len(value)] == value


def test_a_file_equals_the_one_that_tensorflow_writes(tmp_path: Path) -> None:
    data = [b"", b"a", bytes(range(256)) * 300]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for each in data:
            writer.write(each)
    ours = b"".join(part for each in data for part in frame([each[:7], each[7:]]))
    assert ours == (tmp_path / "theirs").read_bytes()
    assert list(records(io.BytesIO(ours), "ours")) == data


@pytest.mark.parametrize("at", [0, 9, 12, 20, -1])
def test_a_flipped_byte_anywhere_names_file_record_and_place(at: int) -> None:
    good = b"".join(frame([b"x" * 50]))
    bad = bytearray(good)
    bad[at] ^= 1
    with pytest.raises(DecodeError, match=r"'the file': record 1 \(at byte 66\) is .* corrupt"):
        list(records(io.BytesIO(good + bytes(bad) + good), "the file"))


@pytest.mark.parametrize("length", [1, 11, 12, 40, 65])
def test_a_file_that_is_cut_off_names_the_record(length: int) -> None:
    good = b"".join(frame([b"x" * 50]))
    with pytest.raises(DecodeError, match="record 2"):
        list(records(io.BytesIO(good * 2 + good[:length]), "the file"))
