"""`flow_from_dataframe` with keras-preprocessing's arguments, and the class it belonged to."""

import warnings
from collections.abc import Sequence
from typing import Any

import keras_preprocessing.image
import pandas as pd

from dfloader.legacy.checks import Columns
from dfloader.legacy.iterator import DataFrameIterator, Settings
from dfloader.legacy.pixels import Look
from dfloader.legacy.rows import Rows, read

_DEPRECATED = {
    "has_ext": (
        "has_ext is deprecated, filenames in the dataframe have to match the exact filenames in "
        "disk."
    ),
    "sort": (
        "sort is deprecated, batches will be created in thesame order than the filenames provided "
        "if `shuffle`is set to `False`."
    ),
    "drop_duplicates": (
        "drop_duplicates is deprecated, you can drop duplicates by using the "
        "pandas.DataFrame.drop_duplicates method."
    ),
}


def flow_from_dataframe(
    dataframe: pd.DataFrame,
    directory: str | None = None,
    image_data_generator: Any = None,
    x_col: str = "filename",
    y_col: Any = "class",
    weight_col: str | None = None,
    target_size: tuple[int, int] = (256, 256),
    color_mode: str = "rgb",
    classes: Sequence[str] | None = None,
    class_mode: str | None = "categorical",
    batch_size: int = 32,
    shuffle: bool = True,
    seed: int | None = None,
    save_to_dir: str | None = None,
    save_prefix: str = "",
    save_format: str = "png",
    subset: str | None = None,
    interpolation: str = "nearest",
    validate_filenames: bool = True,
    *,
    legacy_sort: bool = False,
    verbose: int = 1,
    **kwargs: Any,
) -> DataFrameIterator:
    """Read images named in a frame, batch by batch, as keras-preprocessing did.

    Args:
        dataframe: is not modified.
        directory: what names in ``x_col`` are relative to; None: the working directory.
        image_data_generator: keras-preprocessing's, tf_keras' or Keras' ``ImageDataGenerator``,
            whose augmentation and normalisation are applied; None: neither.
        x_col: column of file names.
        y_col: column of targets; a list of columns for ``multi_output`` and ``raw``.
        weight_col: column of sample weights.
        target_size: height, width.
        color_mode: rgb, rgba or grayscale.
        classes: the classes, in the order of their numbers; rows of others are left out. None:
            those of the frame, as sorted text.
        class_mode: binary, categorical, sparse, raw, multi_output, input, or None for images only.
        shuffle: draw a new order for each pass.
        seed: of the order and the augmentation.
        save_to_dir: folder to save the images served in, to look at them.
        save_prefix: of the saved files' names.
        save_format: of the saved files: png, jpeg, ...
        subset: training or validation, where the generator has a ``validation_split``.
        interpolation: Pillow's name of it, used where a file is not of ``target_size``.
        validate_filenames: leave out rows without a file, and files that are no images by name.
        legacy_sort: sort ``classes``, as keras-preprocessing up to 1.1.2 did.
        verbose: 0: do not print what was found.
        **kwargs: ignored, with a warning.

    Returns:
        An endless iterator, which is also a ``Sequence`` of the Keras in use.

    Raises:
        KeyError: a column is missing.
        TypeError: a column holds other than what the class mode needs.
        ValueError: an argument is none of those it can be.

    Examples:
        >>> import pandas as pd
        >>> from dfloader import flow_from_dataframe
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> batches = flow_from_dataframe(df, "sample_data", target_size=(64, 64), verbose=0)
        >>> x, y = next(batches)
        >>> x.shape, str(x.dtype)
        ((32, 64, 64, 3), 'float32')
    """
    class_mode = _warn_about_old_words(class_mode, kwargs)
    if color_mode not in ("rgb", "rgba", "grayscale"):
        raise ValueError(
            f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".'
        )
    look = Look(
        target_size=(target_size[0], target_size[1]),
        color_mode=color_mode,
        interpolation=interpolation,
        data_format=getattr(image_data_generator, "data_format", "channels_last"),
    )
    split = _split(subset, image_data_generator)
    order = _class_order(classes, image_data_generator, legacy_sort)
    rows = read(
        dataframe,
        Columns(x_col, y_col, weight_col, class_mode, order),
        directory=directory or "",
        validate=validate_filenames,
        split=split,
        warn_about_cut=subset == "validation",
    )
    if verbose:
        print(_found(rows, validate_filenames))
    settings = Settings(
        image_data_generator=image_data_generator,
        directory=directory or "",
        class_mode=class_mode,
        batch_size=batch_size,
        shuffle=shuffle,
        seed=seed,
        save_to_dir=save_to_dir,
        save_prefix=save_prefix,
        save_format=save_format,
        subset=subset,
        split=split,
        dtype=getattr(image_data_generator, "dtype", "float32"),
    )
    return DataFrameIterator(rows, look, settings)


class ImageDataGenerator(keras_preprocessing.image.ImageDataGenerator):  # type: ignore[misc]
    """keras-preprocessing's generator with dfloader's `flow_from_dataframe`.

    Change the line that imports it, and a script runs unchanged.

    Examples:
        >>> import pandas as pd
        >>> from dfloader.legacy import ImageDataGenerator
        >>> df = pd.read_csv("sample_data/labels.csv")
        >>> generator = ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
        >>> batches = generator.flow_from_dataframe(df, "sample_data", verbose=0)
        >>> float(batches[0][0].max()) <= 1
        True
    """

    def flow_from_dataframe(
        self, dataframe: pd.DataFrame, directory: str | None = None, *args: Any, **kwargs: Any
    ) -> DataFrameIterator:
        """Do as `dfloader.flow_from_dataframe`; ``x_col`` comes third, as it always did."""
        return flow_from_dataframe(dataframe, directory, self, *args, **kwargs)


def _warn_about_old_words(class_mode: str | None, kwargs: dict[str, Any]) -> str | None:
    for word in [word for word in _DEPRECATED if word in kwargs]:
        warnings.warn(_DEPRECATED[word], DeprecationWarning, stacklevel=3)
    unknown = [repr(word) for word in kwargs if word not in _DEPRECATED]
    if unknown:
        warnings.warn(
            f"flow_from_dataframe does not know {', '.join(unknown)}, and ignores it as "
            "keras-preprocessing did.",
            stacklevel=3,
        )
    if class_mode != "other":
        return class_mode
    warnings.warn(
        '`class_mode="other"` is deprecated, please use `class_mode="raw"`.',
        DeprecationWarning,
        stacklevel=3,
    )
    return "raw"


def _split(subset: str | None, generator: Any) -> tuple[float, float] | None:
    if subset is None:
        return None
    if subset not in ("training", "validation"):
        raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
    if generator is None:
        raise ValueError(
            f"subset={subset!r} needs an image_data_generator, which says the validation_split. "
            "Or cut the frame yourself: dfloader.split_dataframe."
        )
    fraction = generator._validation_split
    return (0, fraction) if subset == "validation" else (fraction, 1)


def _class_order(classes: Sequence[str] | None, generator: Any, legacy_sort: bool) -> Sequence[str]:
    order = [] if classes is None else list(classes)
    if legacy_sort:
        return sorted(set(order))
    old = any(
        base.__module__.startswith("keras_preprocessing.") for base in type(generator).__mro__
    )
    if old and list(dict.fromkeys(order)) != sorted(set(order)):
        warnings.warn(
            "`classes` keeps your order, as in Keras; keras-preprocessing up to 1.1.2 sorted it: "
            f"{sorted(set(order))}. For models trained with that say legacy_sort=True.",
            stacklevel=3,
        )
    return order


def _found(rows: Rows, validated: bool) -> str:
    found = f"Found {len(rows)} {'' if validated else 'non-'}validated image filenames"
    if rows.class_indices is None:
        return f"{found}."
    return f"{found} belonging to {len(rows.class_indices)} classes."
