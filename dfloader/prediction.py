"""`predict`: a model's outputs joined to the frame, row by row, whatever was shuffled."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dfloader.columns import Y_NAMES, to_pandas
from dfloader.errors import DataFrameError
from dfloader.labels import LabelEncoder
from dfloader.sequence import DataFrameSequence
from dfloader.spec import FrameSpec
from dfloader.targets import read_targets

# What says y, weights or order, none of which a prediction has.
_LABELS = ("y_col", "class_mode", "classes", "unknown", "label_sep", "mask_col")
_WEIGHTS = ("weight_col", "class_weight", "sampler", "samples_per_epoch")
_ORDER = ("shuffle", "augment", "shard", "drop_remainder")
_NOT_OF_X = frozenset((*_LABELS, *_WEIGHTS, *_ORDER))
_CLASS_MODES = ("categorical", "sparse", "binary", "multilabel")
# Probabilities of float16 models sum to 1 within about this.
_TOLERANCE = 1e-2


class Head(NamedTuple):
    """What one output of the model means; without an encoder: numbers."""

    mode: str | None
    encoder: LabelEncoder | None


_NUMBERS = Head(None, None)


def predict(model: Any, df_or_sequence: Any, batch_size: int = 32, **spec: Any) -> pd.DataFrame:
    """Give the frame in its own order with the model's predictions joined.

    Args:
        model: a Keras model.
        df_or_sequence: a frame, or a `DataFrameSequence`, whose shuffling, sampling and
            augmentation are left aside.
        batch_size: rows in a batch, for a frame.
        **spec: the keywords of `DataFrameSequence`, for a frame. ``class_mode`` says what the
            model gives; ``classes=train.encoder`` makes its numbers mean the classes of training.

    Returns:
        A copy of the frame with new columns. Of a classifier: `prediction`, the class name (for
        ``multilabel`` a tuple of names), and a probability `p_<class>` each. Of other models:
        `prediction`, or `prediction_0`, `prediction_1`, ... Of several outputs: the same with the
        output's name, as in `prediction_<output>` and `p_<output>_<class>`. Rows that were not
        read have missing values.

    Raises:
        DataFrameError: the outputs are not probabilities of the classes, or a new column's name
            is taken.

    Examples:
        >>> import keras
        >>> layers = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4, "softmax")]
        >>> model = keras.Sequential([keras.Input((32, 32, 3)), *layers])
        >>> df = pd.read_csv("sample_data/labels.csv").head(3)
        >>> names = ["a", "b", "c", "d"]
        >>> spec = dict(directory="sample_data", target_size=(32, 32), classes=names)
        >>> [name for name in predict(model, df, **spec) if name not in df]
        ['prediction', 'p_a', 'p_b', 'p_c', 'p_d']
    """
    if isinstance(df_or_sequence, DataFrameSequence):
        if spec:
            raise TypeError(f"{sorted(spec)} were said when the sequence was built.")
        frame, heads = to_pandas(df_or_sequence.frame), _heads_of(df_or_sequence)
        with df_or_sequence.eval() as seq:
            return _joined(frame, _outputs(model, seq), heads)
    frame = to_pandas(df_or_sequence)
    heads = _heads(frame, spec)
    x_only = {name: value for name, value in spec.items() if name not in _NOT_OF_X}
    with DataFrameSequence(frame, batch_size, **x_only, class_mode=None, shuffle=False) as seq:
        return _joined(frame, _outputs(model, seq), heads)


def _heads_of(seq: DataFrameSequence) -> dict[str, Head]:
    if isinstance(seq.class_mode, Mapping):
        encoders = seq.encoder if isinstance(seq.encoder, dict) else {}
        return {name: Head(mode, encoders.get(name)) for name, mode in seq.class_mode.items()}
    assert not isinstance(seq.encoder, dict)
    return {"label": Head(seq.class_mode, seq.encoder)}


def _heads(df: pd.DataFrame, spec: Mapping[str, Any]) -> dict[str, Head]:
    known = {field.name for field in fields(FrameSpec)}
    said = {name: value for name, value in spec.items() if name in known}
    mode = FrameSpec(**said).class_mode
    if isinstance(mode, Mapping):
        classes = said.pop("classes", None) or {}
        return {
            name: _head(df, {**said, "y_col": name, "class_mode": each}, classes.get(name))
            for name, each in mode.items()
        }
    unsaid = not {"class_mode", "classes", "y_col"} & said.keys()
    if unsaid and not any(name in df.columns for name in Y_NAMES):
        return {"label": _NUMBERS}
    return {"label": _head(df, said, said.get("classes"))}


def _head(df: pd.DataFrame, said: Mapping[str, Any], classes: Any) -> Head:
    spec = FrameSpec(**{**said, "classes": classes})
    if spec.class_mode not in _CLASS_MODES:
        return _NUMBERS
    if classes is not None:
        encoder = classes if isinstance(classes, LabelEncoder) else LabelEncoder(classes)
        return Head(spec.class_mode, encoder)
    target = read_targets(df, spec).target
    assert target is not None and not isinstance(target, Mapping)
    return Head(spec.class_mode, target.encoder)


class _Part(NamedTuple):
    rows: npt.NDArray[np.int64]
    outputs: dict[str, npt.NDArray[Any]]


def _outputs(model: Any, seq: DataFrameSequence) -> Iterator[_Part]:
    """Run the model over each batch; padding and rows that could not be read are left out."""
    for i, batch in enumerate(seq):
        x = batch[0] if isinstance(batch, tuple) else batch
        rows = seq.rows(i)
        read = (rows >= 0) & ~np.isin(rows, seq.failures["row"])
        named = _named(model, model.predict_on_batch(x))
        yield _Part(rows[read], {name: part[read] for name, part in named.items()})


def _named(model: Any, outputs: Any) -> dict[str, npt.NDArray[Any]]:
    if isinstance(outputs, Mapping):
        return {name: np.asarray(part) for name, part in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        names = getattr(model, "output_names", None) or range(len(outputs))
        return {str(n): np.asarray(part) for n, part in zip(names, outputs, strict=True)}
    return {"": np.asarray(outputs)}


def _joined(df: pd.DataFrame, parts: Iterator[_Part], heads: Mapping[str, Head]) -> pd.DataFrame:
    done = list(parts)
    rows = np.concatenate([part.rows for part in done])
    names = list(done[0].outputs)
    _check_heads(names, heads)
    columns: dict[str, Any] = {}
    for name in names:
        values = np.concatenate([part.outputs[name] for part in done])
        head = next(iter(heads.values())) if name == "" else heads.get(name, _NUMBERS)
        columns |= _columns(name, values, head)
    taken = [column for column in columns if column in df.columns]
    if taken:
        raise DataFrameError(
            f"The frame has a column {taken[0]!r} already.",
            column=taken[0],
            hint="Rename it or drop it first.",
        )
    return pd.concat([df, _spread(columns, rows, df.index)], axis=1)


def _check_heads(names: list[str], heads: Mapping[str, Head]) -> None:
    absent = [name for name in heads if name not in names]
    if names != [""] and absent and len(heads) > 1:
        raise DataFrameError(
            f"class_mode names outputs {list(heads)}, the model has {names}.",
            hint="Name the model's outputs as class_mode does.",
        )


def _columns(name: str, values: npt.NDArray[Any], head: Head) -> dict[str, Any]:
    suffix = f"_{name}" if name else ""
    if head.encoder is None:
        return _number_columns(f"prediction{suffix}", values)
    p = _probabilities(values, head.mode, head.encoder)
    names = head.encoder.class_names
    said = _objects(replace(head.encoder, multi=head.mode == "multilabel").inverse_transform(p))
    each = {f"p{suffix}_{label}": p[:, i] for i, label in enumerate(names)}
    return {f"prediction{suffix}": said, **each}


def _number_columns(title: str, values: npt.NDArray[Any]) -> dict[str, Any]:
    if values.ndim > 2:
        return {title: _objects(list(values))}  # a picture a row
    if values.ndim == 1 or values.shape[1] == 1:
        return {title: values.reshape(len(values))}
    return {f"{title}_{i}": column for i, column in enumerate(values.T)}


def _probabilities(
    values: npt.NDArray[Any], mode: str | None, encoder: LabelEncoder
) -> npt.NDArray[Any]:
    """Give a probability a class (n, classes); one sigmoid is that of the second class."""
    p = values.reshape(len(values), -1)
    if p.shape[1] == 1 and len(encoder) == 2 and mode != "multilabel":
        p = np.concatenate([1 - p, p], axis=1)
    if p.shape[1] != len(encoder):
        raise DataFrameError(
            f"The model gives {p.shape[1]} numbers a row, and there are {len(encoder)} classes.",
            hint="Pass classes=train.encoder, or class_mode='raw' if they are no classes.",
        )
    sums = p.sum(axis=1)
    exclusive = mode != "multilabel"
    if (p < 0).any() or (p > 1).any() or (exclusive and (abs(sums - 1) > _TOLERANCE).any()):
        raise DataFrameError(
            "The model's outputs are not probabilities.",
            hint="End it with a softmax or sigmoid: keras.Sequential([model, "
            "keras.layers.Softmax()]); or say class_mode='raw'.",
        )
    return p


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    return np.fromiter(values, object, len(values))


def _spread(
    columns: Mapping[str, npt.NDArray[Any]], rows: npt.NDArray[np.int64], index: Any
) -> pd.DataFrame:
    """Put values at their rows; the others have missing values."""
    at = pd.DataFrame(columns, index=rows)
    whole = at.reindex(np.arange(len(index))) if len(rows) != len(index) else at.sort_index()
    return whole.set_axis(index, axis=0)
