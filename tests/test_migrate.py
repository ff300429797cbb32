"""Rewriting old scripts: what changes, what stays, what is said."""

import sys
import textwrap

import pytest
from typer.testing import CliRunner

from dfloader.cli import app
from dfloader.migrate import migrate, migrate_file, report


def after(source):
    return migrate(textwrap.dedent(source)).after


@pytest.mark.parametrize(
    "module",
    [
        "keras_preprocessing.image",
        "keras.preprocessing.image",
        "tensorflow.keras.preprocessing.image",
        "tf_keras.preprocessing.image",
    ],
)
def test_the_generators_import_line_is_the_only_change(module):
    body = "datagen = ImageDataGenerator(rescale=1 / 255)  # scale\n"
    migrated = migrate(f"from {module} import ImageDataGenerator\n{body}")
    assert migrated.after == f"from dfloader.legacy import ImageDataGenerator\n{body}"
    assert migrated.changed_lines("a.py").count("\n-") == 1


def test_other_names_of_the_line_stay_where_they_are():
    assert after("from keras.preprocessing.image import load_img, ImageDataGenerator as IDG\n") == (
        "from keras.preprocessing.image import load_img\n"
        "from dfloader.legacy import ImageDataGenerator as IDG\n"
    )


def test_a_line_without_the_generator_stays():
    source = "from keras.preprocessing.image import load_img\n"
    assert after(source) == source


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import tensorflow as tf", "tf.keras.preprocessing.image.ImageDataGenerator"),
        ("from keras.preprocessing import image", "image.ImageDataGenerator"),
        ("import keras", "keras.preprocessing.image.ImageDataGenerator"),
    ],
)
def test_the_generator_behind_a_module_is_imported(line, name):
    assert after(f"{line}\n\ndatagen = {name}()\n") == (
        f"{line}\nfrom dfloader.legacy import ImageDataGenerator\n\n"
        "datagen = ImageDataGenerator()\n"
    )


@pytest.mark.parametrize("method", ["fit_generator", "evaluate_generator", "predict_generator"])
def test_a_generator_method_becomes_a_function(method):
    assert after(f"import keras\n\nself.model.{method}(batches, 3, verbose=0)\n") == (
        f"import keras\nfrom dfloader import {method}\n\n"
        f"{method}(self.model, batches, 3, verbose=0)\n"
    )


def test_what_is_migrated_stays():
    source = """\
        import dfloader
        from dfloader import fit_generator

        fit_generator(model, batches)
        dfloader.fit_generator(model, batches)
    """
    assert after(source) == textwrap.dedent(source)


def test_fit_with_workers_becomes_fit_generator():
    assert after("model.fit(x=batches, epochs=2, workers=4)\n").endswith(
        "fit_generator(model, generator=batches, epochs=2, workers=4)\n"
    )


@pytest.mark.parametrize("call", ["fit(x, y, workers=4)", "fit(x, y=y, workers=4)"])
def test_fit_of_arrays_with_workers_stays_and_is_noted(call):
    migrated = migrate(f"model.{call}\n")
    assert migrated.after == migrated.before
    assert migrated.notes == ((1, "Keras 3's fit takes no workers: leave them out"),)


def test_fit_without_workers_stays():
    assert after("model.fit(batches, epochs=2)\n") == "model.fit(batches, epochs=2)\n"


def test_old_words_go_and_other_becomes_raw():
    source = """\
        batches = datagen.flow_from_dataframe(
            df,
            class_mode="other",
            has_ext=True,
            sort=False,
        )
        more = datagen.flow_from_dataframe(df, drop_duplicates=False)
    """
    assert after(source) == textwrap.dedent("""\
        batches = datagen.flow_from_dataframe(
            df,
            class_mode="raw",
        )
        more = datagen.flow_from_dataframe(df)
    """)


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ('subset="training"', "first rows of the frame"),
        ('classes=["b", "a"]', "legacy_sort=True"),
        ("class_mode=None", "shuffle=False"),
    ],
)
def test_traps_are_noted_with_their_line(words, note):
    ((line, text),) = migrate(f"\n\nflow = datagen.flow_from_dataframe(df, {words})\n").notes
    assert line == 3
    assert note in text


def test_predictions_in_order_are_no_trap():
    assert not migrate("datagen.flow_from_dataframe(df, class_mode=None, shuffle=False)").notes


def test_a_star_import_is_noted():
    ((line, text),) = migrate("from keras.preprocessing.image import *\n").notes
    assert (line, text.partition(":")[0]) == (1, "import *")


def test_nothing_is_written_unless_asked(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("model.fit_generator(batches)\n")
    said = report(script)
    assert "+fit_generator(model, batches)" in said
    assert "Nothing is written; say --write" in said
    assert script.read_text() == "model.fit_generator(batches)\n"


def test_write_changes_the_file_once(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("model.fit_generator(batches)\n")
    migrate_file(script, write=True)
    assert script.read_text().endswith("\nfit_generator(model, batches)\n")
    assert report(script, write=True) == f"{script}: nothing to change.\n"


def test_the_command_shows_the_lines_and_leaves_the_file(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("model.fit_generator(batches)\n")
    shown = CliRunner().invoke(app, ["migrate", str(script)])
    assert shown.exit_code == 0
    assert "+fit_generator(model, batches)" in shown.stdout
    assert script.read_text() == "model.fit_generator(batches)\n"
    assert CliRunner().invoke(app, ["migrate", str(script), "--write"]).exit_code == 0
    assert script.read_text().endswith("\nfit_generator(model, batches)\n")


@pytest.mark.parametrize("text", [None, "print 'no'\n"])
def test_the_command_calls_an_absent_script_and_python_2_wrong_use(tmp_path, text):
    script = tmp_path / "old.py"
    if text is not None:
        script.write_text(text)
    assert CliRunner().invoke(app, ["migrate", str(script)]).exit_code == 2


def test_python_2_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        migrate("print 'no'\n")


def test_missing_libcst_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "libcst", None)
    monkeypatch.delitem(sys.modules, "dfloader.migrate")
    with pytest.raises(ImportError, match=r'pip install "dfloader\[migrate\]"'):
        import dfloader.migrate  # noqa: F401
