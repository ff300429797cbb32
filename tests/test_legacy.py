"""`flow_from_dataframe`, point by point; the differential test beside this has the breadth."""

import inspect
import os

import keras
import numpy as np
import pandas as pd
import pytest
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from keras_preprocessing import image as kp
from PIL import Image

from dfloader import flow_from_dataframe
from dfloader.legacy import ImageDataGenerator as OursGenerator

CLASSLESS = ["input", "multi_output", "raw", None]


@pytest.fixture
def small(folder):
    """Six rows, three classes, names relative to ``folder``."""
    names = sorted(path.name for path in folder.iterdir())[:6]
    return pd.DataFrame(
        {
            "filename": names,
            "class": ["b", "a", "c", "a", "b", "a"],
            "two": ["no", "yes"] * 3,
            "number": range(6),
            "share": np.arange(6) / 4,
        }
    )


@pytest.fixture
def flow(folder):
    def flow(frame, **words):
        words = {"target_size": (8, 9), "verbose": 0, "seed": 3} | words
        return flow_from_dataframe(frame, str(folder), **words)

    return flow


def test_c1_classes_without_an_order_are_sorted_as_text(flow, small):
    small["class"] = ["10", "9", "2", "10", "9", "2"]
    assert flow(small).class_indices == {"10": 0, "2": 1, "9": 2}


def test_c1_the_users_order_wins_and_repeats_are_dropped(flow, small):
    batches = flow(small, classes=["c", "a", "c", "b"], shuffle=False)
    assert batches.class_indices == {"c": 0, "a": 1, "b": 2}
    assert batches.classes == [2, 1, 0, 1, 2, 1]


def test_c1_a_class_that_no_row_has_keeps_its_column(flow, small):
    assert flow(small, classes=["a", "b", "c", "none"])[0][1].shape == (6, 4)


def test_c1_rows_of_other_classes_are_left_out(flow, small):
    batches = flow(small, classes=["b", "a"])
    assert batches.filenames == [small.filename[i] for i in (0, 1, 3, 4, 5)]


def test_c1_legacy_sort_sorts_the_users_order(flow, small):
    assert flow(small, classes=["c", "a"], legacy_sort=True).class_indices == {"a": 0, "c": 1}


def test_c1_keras_preprocessing_users_are_told_that_their_order_now_counts(flow, small):
    with pytest.warns(UserWarning, match="legacy_sort=True"):
        flow(small, classes=["c", "a"], image_data_generator=kp.ImageDataGenerator())


def test_c2_the_arguments_and_defaults_are_keras_preprocessings(small):
    theirs = inspect.signature(kp.ImageDataGenerator.flow_from_dataframe).parameters
    ours = inspect.signature(flow_from_dataframe).parameters
    assert list(ours)[:3] == ["dataframe", "directory", "image_data_generator"]
    assert list(ours)[3:19] == [name for name in theirs if name != "kwargs"][3:]
    for name in list(ours)[3:19]:
        assert ours[name].default == theirs[name].default


def test_c2_unknown_keywords_warn_by_name_and_are_ignored(flow, small):
    with pytest.warns(UserWarning, match="does not know 'follow_links', 'foo'"):
        assert flow(small, follow_links=True, foo=1).n == 6


def test_c3_two_classes_are_counted_before_files_are_looked_up(flow, small):
    small.loc[small.two == "yes", "filename"] = "missing.png"
    with pytest.warns(UserWarning, match="Found 3 invalid"):
        assert flow(small, y_col="two", class_mode="binary").class_indices == {"no": 0}


def test_c3_classes_depend_on_the_files_but_not_on_the_subset(flow, small):
    small.loc[2, "filename"] = "missing.png"
    generator = ImageDataGenerator(validation_split=0.4)
    with pytest.warns(UserWarning, match="Found 1 invalid"):
        batches = flow(small, image_data_generator=generator, subset="training")
    assert batches.class_indices == {"a": 0, "b": 1}
    assert batches.filenames == small.filename[3:].tolist()


def test_c3_types_are_checked_before_files(flow, small):
    small["filename"] = "missing.png"
    with pytest.raises(TypeError, match="values must be strings"):
        flow(small, y_col="number", class_mode="sparse")


def test_c3_the_frame_is_not_modified(flow, small):
    before = small.copy()
    flow(small, classes=["a"], weight_col="share")[0]
    pd.testing.assert_frame_equal(small, before)


def test_c4_validation_is_the_first_rows_and_training_the_rest(flow, small):
    generator = ImageDataGenerator(validation_split=0.4)
    words = {"image_data_generator": generator, "class_mode": None}
    assert flow(small, subset="validation", **words).filenames == small.filename[:2].tolist()
    assert flow(small, subset="training", **words).filenames == small.filename[2:].tolist()


def test_c4_without_a_split_training_is_everything(flow, small):
    words = {"image_data_generator": ImageDataGenerator(), "class_mode": None}
    assert flow(small, subset="training", **words).n == 6
    assert len(flow(small, subset="validation", **words)) == 0


def test_c4_a_cut_whose_classes_differ_from_trainings_warns(flow, small):
    words = {"image_data_generator": ImageDataGenerator(validation_split=0.4)}
    small = small.sort_values("class")
    with pytest.warns(UserWarning, match=r"only in validation \[\], only in training \['b', 'c'\]"):
        flow(small, subset="validation", **words)


def test_c4_a_subset_without_a_generator_says_what_is_needed(flow, small):
    with pytest.raises(ValueError, match="needs an image_data_generator"):
        flow(small, subset="training")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({}, "Found 6 validated image filenames belonging to 3 classes."),
        ({"class_mode": None}, "Found 6 validated image filenames."),
        ({"class_mode": "raw", "y_col": "number"}, "Found 6 validated image filenames."),
        (
            {"validate_filenames": False, "class_mode": None},
            "Found 6 non-validated image filenames.",
        ),
        ({"classes": ["x"]}, "Found 0 validated image filenames belonging to 1 classes."),
    ],
)
def test_c5_the_printed_line(flow, small, capsys, words, line):
    flow(small, verbose=1, **words)
    assert capsys.readouterr().out == line + "\n"


def test_c5_rows_are_counted_after_the_cut_and_classes_before(flow, small, capsys):
    generator = ImageDataGenerator(validation_split=0.2)
    with pytest.warns(UserWarning, match="validation cut"):
        flow(small, image_data_generator=generator, subset="validation", verbose=1)
    out = capsys.readouterr().out
    assert out == "Found 1 validated image filenames belonging to 3 classes.\n"


def test_c5_no_valid_row_is_an_iterator_of_length_0(flow, small, capsys):
    small["filename"] = "missing.png"
    with pytest.warns(UserWarning, match="Found 6 invalid"):
        batches = flow(small, verbose=1)
    assert len(batches) == 0
    assert next(batches)[0].shape == (0, 8, 9, 3)
    assert capsys.readouterr().out.endswith("belonging to 0 classes.\n")


def test_c5_an_empty_frame_is_a_key_error(flow, small):
    with pytest.raises(KeyError, match="class"):
        flow(small[:0])


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"x_col": "number"}, TypeError, "All values in column x_col=number must be strings."),
        (
            {"y_col": "number", "class_mode": "sparse"},
            TypeError,
            'If class_mode="sparse", y_col="number" column values must be strings.',
        ),
        (
            {"y_col": "number"},
            TypeError,
            'If class_mode="categorical", y_col="number" column values must be type string, list '
            "or tuple.",
        ),
        (
            {"class_mode": "binary"},
            ValueError,
            'If class_mode="binary" there must be 2 classes. Found 3 classes.',
        ),
        (
            {"class_mode": "binary", "classes": ["a"]},
            ValueError,
            'If class_mode="binary" there must be 2 classes. 1 class/es were given.',
        ),
        (
            {"class_mode": "multi_output"},
            TypeError,
            'If class_mode="multi_output", y_col must be a list. Received str.',
        ),
        ({"weight_col": "two"}, TypeError, "Column weight_col=two must be numeric."),
        ({"class_mode": "more"}, ValueError, "Invalid class_mode: more; expected one of: {"),
        (
            {"color_mode": "bgr"},
            ValueError,
            'Invalid color mode: bgr; expected "rgb", "rgba", or "grayscale".',
        ),
        (
            {"subset": "test"},
            ValueError,
            'Invalid subset name: test;expected "training" or "validation"',
        ),
    ],
)
def test_c6_the_messages_are_the_originals(flow, small, words, error, message):
    with pytest.raises(error) as caught:
        flow(small, **words)
    assert str(caught.value).startswith(message)


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="notes came with Python 3.11")
def test_c6_a_note_names_the_row_the_value_and_the_cure(flow, small):
    small["class"] = small["class"].astype(object)
    small.loc[4, "class"] = 7
    with pytest.raises(TypeError) as caught:
        flow(small)
    (note,) = caught.value.__notes__
    assert "Row 4 holds 7, a int" in note
    assert "dataframe['class'].astype(str)" in note


def test_c6_an_element_behind_the_end_is_a_value_error(flow, small):
    message = "Asked to retrieve element 2, but the Sequence has length 2"
    with pytest.raises(ValueError, match=message):
        flow(small, batch_size=4)[2]


def test_c6_the_element_before_the_first_is_empty(flow, small):
    assert flow(small, batch_size=4)[-1][0].shape == (0, 8, 9, 3)


def test_c6_the_warning_about_files_names_five_of_them(flow, small):
    missing = pd.DataFrame({"filename": [f"no{i}.png" for i in range(7)], "class": "a"})
    with pytest.warns(UserWarning) as caught:
        flow(pd.concat([small, missing]))
    message = str(caught[0].message)
    assert message.startswith(
        'Found 7 invalid image filename(s) in x_col="filename". These filename(s) will be ignored.'
    )
    assert "'no4.png', ..." in message
    assert "no5" not in message


@pytest.mark.parametrize("word", ["has_ext", "sort", "drop_duplicates"])
def test_c6_old_words_warn_and_are_ignored(flow, small, word):
    with pytest.warns(DeprecationWarning, match=f"^{word} is deprecated"):
        assert flow(small, **{word: True}).n == 6


def test_c6_u019_other_is_raw(flow, small):
    with pytest.warns(DeprecationWarning, match="please use"):
        batches = flow(small, class_mode="other", y_col="number", shuffle=False)
    assert batches[0][1].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("mode", CLASSLESS)
def test_c6_classes_given_for_nothing_warn(flow, small, mode):
    y_col = ["number"] if mode == "multi_output" else "number"
    with pytest.warns(UserWarning, match=f'ignored given the class_mode="{mode}"'):
        flow(small, class_mode=mode, y_col=y_col, classes=["a"])


@pytest.mark.parametrize(
    ("words", "dtype", "expected"),
    [
        ({}, "float32", [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        ({"class_mode": "sparse"}, "float32", [1, 0, 2]),
        ({"class_mode": "binary", "y_col": "two"}, "float32", [0, 1, 0]),
        ({"class_mode": "raw", "y_col": "number"}, "int64", [0, 1, 2]),
        (
            {"class_mode": "raw", "y_col": ["number", "share"]},
            "float64",
            [[0, 0], [1, 0.25], [2, 0.5]],
        ),
    ],
)
def test_c7_targets_have_the_originals_types(flow, small, words, dtype, expected):
    x, y = flow(small, batch_size=3, shuffle=False, **words)[0]
    assert (x.dtype, x.shape) == ("float32", (3, 8, 9, 3))
    assert y.dtype == dtype
    assert y.tolist() == expected


def test_c7_several_labels_are_multi_hot_and_none_are_zeros(flow, small):
    small["class"] = [["a", "b"], ["b", "b"], [], ("a",), "c", ["c", "a"]]
    y = flow(small, shuffle=False)[0][1]
    assert y.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]


def test_c7_multi_output_has_an_array_a_column_in_its_own_dtype(flow, small):
    _, y = flow(small, class_mode="multi_output", y_col=["number", "share"], shuffle=False)[0]
    assert isinstance(y, tuple)  # Keras 3 takes no list
    assert [part.dtype for part in y] == ["int64", "float64"]
    assert [part.tolist() for part in y] == [[0, 1, 2, 3, 4, 5], [0, 0.25, 0.5, 0.75, 1, 1.25]]


def test_c7_weights_keep_their_dtype_and_nan(flow, small):
    small.loc[1, "share"] = np.nan
    for column, dtype in (("number", "int64"), ("share", "float64")):
        _, _, weights = flow(small, weight_col=column, shuffle=False)[0]
        assert weights.dtype == dtype
        np.testing.assert_array_equal(weights, small[column])


def test_c7_none_is_the_images_alone_without_weights(flow, small):
    batch = flow(small, class_mode=None, weight_col="share")[0]
    assert isinstance(batch, np.ndarray)


def test_c7_input_is_a_copy_of_the_augmented_images(flow, small):
    x, y = flow(small, class_mode="input", image_data_generator=ImageDataGenerator(rescale=0.5))[0]
    np.testing.assert_array_equal(x, y)
    assert not np.shares_memory(x, y)


def test_c8_the_first_order_is_that_of_the_seed(flow, small):
    batches = flow(small, batch_size=2)
    batches[1]
    np.testing.assert_array_equal(batches.index_array, np.random.RandomState(3).permutation(6))


def test_c8_next_draws_the_order_of_a_pass_from_seed_and_batches_seen(flow, small):
    batches = flow(small, batch_size=2)
    for _ in range(4):
        next(batches)
    np.testing.assert_array_equal(batches.index_array, np.random.RandomState(6).permutation(6))


def test_c8_the_global_state_is_left_as_it_was(flow, small, tmp_path):
    generator = ImageDataGenerator(
        rotation_range=20, zoom_range=0.2, preprocessing_function=lambda x: x + np.random.rand()
    )
    before = np.random.get_state()
    for seed in (None, 5):
        batches = flow(small, image_data_generator=generator, seed=seed, save_to_dir=str(tmp_path))
        next(batches)
        batches[0]
        batches.on_epoch_end()
    np.testing.assert_equal(np.random.get_state(), before)


def test_c8_without_a_seed_the_global_state_says_what_comes(flow, small):
    generator = ImageDataGenerator(rotation_range=90)
    drawn = []
    for _ in range(2):
        np.random.seed(11)
        drawn.append(next(flow(small, seed=None, image_data_generator=generator))[0])
    np.testing.assert_array_equal(*drawn)


def test_c8_draws_come_in_the_originals_order(flow, small):
    generator = ImageDataGenerator(
        rotation_range=9,
        height_shift_range=0.1,
        width_shift_range=[1, 2],
        shear_range=4,
        zoom_range=0.2,
        channel_shift_range=5,
        brightness_range=(0.9, 1.1),
    )
    seen = []
    apply = generator.apply_transform
    generator.apply_transform = lambda x, drawn: seen.append(drawn) or apply(x, drawn)
    with pytest.warns(DeprecationWarning, match=r"scipy\.ndimage"):
        flow(small, image_data_generator=generator, batch_size=2, shuffle=False)[0]
    np.random.seed(3)
    assert seen == [generator.get_random_transform((8, 9, 3)) for _ in range(2)]


def test_c8_saved_files_carry_the_row_and_a_drawn_number(flow, small, tmp_path):
    words = {"save_to_dir": str(tmp_path), "save_prefix": "p", "save_format": "jpeg"}
    flow(small, shuffle=False, batch_size=2, **words)[1]
    rng = np.random.RandomState(3)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"p_{row}_{rng.randint(10**7)}.jpeg" for row in (2, 3)
    }


def test_c9_the_last_batch_is_short_and_next_never_ends(flow, small):
    batches = flow(small, batch_size=4)
    assert len(batches) == 2
    assert [len(next(batches)[0]) for _ in range(5)] == [4, 2, 4, 2, 4]
    assert iter(batches) is batches


def test_c9_reset_begins_a_new_pass_with_a_new_order(flow, small):
    batches = flow(small, batch_size=4)
    next(batches)
    first = batches.index_array.tolist()
    batches.reset()
    assert len(next(batches)[0]) == 4
    assert sorted(batches.index_array) == sorted(first)
    assert batches.index_array.tolist() != first


def test_c10_attributes_are_the_originals(flow, small, folder):
    batches = flow(small, batch_size=4, weight_col="share", shuffle=False)
    assert batches.filenames == small.filename.tolist()
    assert batches.filepaths == [str(folder / name) for name in small.filename]
    assert batches.classes == batches.labels == [1, 0, 2, 0, 1, 0]
    assert batches.class_indices == {"a": 0, "b": 1, "c": 2}
    assert (batches.samples, batches.n, batches.batch_size, batches.batch_index) == (6, 6, 4, 0)
    assert batches.index_array is None
    assert batches.total_batches_seen == 0
    assert (batches.image_shape, batches.target_size) == ((8, 9, 3), (8, 9))
    assert (batches.color_mode, batches.data_format) == ("rgb", "channels_last")
    assert (batches.directory, batches.class_mode) == (str(folder), "categorical")
    assert (batches.subset, batches.split, batches.shuffle) == (None, None, False)
    assert (batches.seed, batches.dtype) == (3, "float32")
    np.testing.assert_array_equal(batches.sample_weight, small["share"])


@pytest.mark.parametrize("mode", CLASSLESS)
def test_c10_modes_without_classes_have_no_class_attributes(flow, small, mode):
    y_col = ["number"] if mode == "multi_output" else "number"
    batches = flow(small, class_mode=mode, y_col=y_col)
    assert not hasattr(batches, "classes")
    assert not hasattr(batches, "class_indices")
    assert hasattr(batches, "labels") == (mode in ("raw", "multi_output"))


def test_c11_files_count_by_the_end_of_their_name_and_by_being_files(flow, tmp_path):
    image = Image.new("RGB", (4, 4))
    for name in ("UP.PNG", "noextpng", "a.webp", "html.jpg"):
        image.save(tmp_path / name, format="PNG")
    (tmp_path / "folder.png").mkdir()
    names = ["UP.PNG", "noextpng", "a.webp", "html.jpg", "folder.png", "none.png"]
    frame = pd.DataFrame({"filename": [str(tmp_path / name) for name in names]})
    with pytest.warns(UserWarning, match="Found 3 invalid"):
        batches = flow(frame, class_mode=None)
    assert [os.path.basename(name) for name in batches.filenames] == [
        "UP.PNG",
        "noextpng",
        "html.jpg",
    ]


@pytest.mark.parametrize("kind", ["str", "string[pyarrow]", object])
def test_c11_a_short_name_is_not_the_end_of_the_others(tmp_path, kind):
    for name in ("g", *(f"{i}.jpg" for i in range(40))):
        (tmp_path / name).touch()
    frame = pd.DataFrame({"filename": ["g", *(f"{i}.jpg" for i in range(40))]}).astype(kind)
    with pytest.warns(UserWarning, match="Found 1 invalid"):
        batches = flow_from_dataframe(frame, str(tmp_path), class_mode=None, verbose=0)
    assert batches.filenames == [f"{i}.jpg" for i in range(40)]


@pytest.mark.parametrize("kind", ["str", "string[pyarrow]", object])
def test_c11_a_listing_is_of_files_and_of_any_bytes(tmp_path, kind):
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "broken.jpg").symlink_to("nowhere")
    (tmp_path / os.fsdecode(b"\xff.jpg")).touch()
    names = [f"{i}é.jpg" for i in range(40)]
    for name in names:
        (tmp_path / name).touch()
    given = ["folder.jpg", *names, "broken.jpg", "none.jpg"]
    frame = pd.DataFrame({"filename": given}).astype(kind)
    with pytest.warns(UserWarning, match="Found 3 invalid"):
        batches = flow_from_dataframe(frame, str(tmp_path), class_mode=None, verbose=0)
    assert batches.filenames == names


@pytest.mark.parametrize("kind", ["str", "string[pyarrow]", object])
def test_c11_many_files_are_checked_alike(tmp_path, kind):
    """Above the number of rows where folders are listed instead of files looked up."""
    for i in range(40):
        (tmp_path / f"{i}.jpg").touch()
    (tmp_path / "linked.png").symlink_to("0.jpg")
    (tmp_path / "broken.png").symlink_to("nowhere")
    (tmp_path / "folder.png").mkdir()
    names = [f"{i}.jpg" for i in range(50)] + ["linked.png", "broken.png", "folder.png", "0.txt"]
    prefixes = ["", "./", f"{tmp_path}/", "folder.png/../"]
    frame = pd.DataFrame({"filename": [prefix + name for prefix in prefixes for name in names]})
    frame = frame.astype(kind)
    with pytest.warns(UserWarning):
        ours = flow_from_dataframe(frame, str(tmp_path), class_mode=None, verbose=0)
    with pytest.warns(UserWarning):
        theirs = ImageDataGenerator().flow_from_dataframe(frame, str(tmp_path), class_mode=None)
    assert ours.filenames == theirs.filenames
    assert ours.n == 41 * len(prefixes)


def test_c11_an_absolute_name_wins_over_the_directory(folder, small):
    small["filename"] = [str(folder / name) for name in small.filename]
    assert flow_from_dataframe(small, "/nowhere", verbose=0).n == 6


def test_c11_without_validation_a_missing_file_fails_at_its_batch(flow, small):
    small.loc[5, "filename"] = "missing.png"
    batches = flow(small, validate_filenames=False, shuffle=False, batch_size=3)
    batches[0]
    with pytest.raises(FileNotFoundError, match=r"missing\.png"):
        batches[1]


def test_c12_preprocessing_sees_the_augmented_image_before_rescaling(flow, small):
    seen = []
    generator = ImageDataGenerator(
        rescale=1 / 255,
        horizontal_flip=True,
        preprocessing_function=lambda x: seen.append(x.copy()) or x,
    )
    x, _ = flow(small, image_data_generator=generator, batch_size=6)[0]
    assert seen[0].shape == (8, 9, 3)
    np.testing.assert_allclose(np.stack(seen) / np.float32(255), x, rtol=1e-6)
    assert np.max(seen) > 1


def test_c13_pandas_columns_of_every_kind_work(flow, small):
    small["kind"] = pd.Categorical(small["class"])
    assert flow(small, y_col="kind").class_indices == {"a": 0, "b": 1, "c": 2}
    small["nullable"] = pd.array([1, 2, 3, 4, 5, None], dtype="Int64")
    small["whole"] = pd.array([1, 2, 3, 4, 5, 6], dtype="Int64")
    for column, dtype in (("nullable", "float64"), ("whole", "int64"), ("kind", "object")):
        y = flow(small, y_col=column, class_mode="raw", shuffle=False)[0][1]
        assert type(y) is np.ndarray
        assert y.dtype == dtype


def test_c13_any_index_will_do(flow, small):
    expected = flow(small, shuffle=False)[0]
    small.index = [5, 5, 1, 9, 0, -1]
    for one, other in zip(flow(small, shuffle=False)[0], expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_c14_it_is_a_dataset_of_the_keras_in_use(flow, small):
    batches = flow(small)
    assert isinstance(batches, keras.utils.PyDataset)
    batches.workers = 3
    assert batches.workers == 3


def test_a_script_migrates_by_its_import_line(small, folder):
    def first_batch(module):
        generator = module(rescale=1 / 255, horizontal_flip=True)
        return next(
            generator.flow_from_dataframe(
                small, str(folder), y_col="two", class_mode="binary", target_size=(8, 9), seed=1
            )
        )

    theirs, ours = first_batch(kp.ImageDataGenerator), first_batch(OursGenerator)
    np.testing.assert_array_equal(theirs[0], ours[0])
    np.testing.assert_array_equal(theirs[1], ours[1])


def test_duplicate_rows_stay(flow, small):
    assert flow(pd.concat([small, small])).n == 12
