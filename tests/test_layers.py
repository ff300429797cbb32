"""The import direction, read from the source; what a process loads, read from sys.modules."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "dfloader"

# A module imports only from rows above its own. A new module needs a place here.
LAYERS = [
    {
        "errors",
        "geometry",
        "scratch",
        "mapped",
        "remote",
        "augment",
        "philox",
        "apportion",
        "magic",
        "rows",
    },
    {"idg"},
    {"spec", "header"},
    {"packed", "memory", "tfrecord", "plan", "labels", "levels", "draws"},
    {"view", "ranges", "columns", "records_order"},
    {"transforms"},
    {"source", "probe", "warp"},
    {"decode"},
    {"table", "render", "files"},
    {"classes", "weights", "augmented", "encode", "records_schema"},
    {"mix"},
    {"multilabel"},
    {"targets"},
    {"example"},
    {"trial", "cache"},
    {"frame", "batch", "records_shard"},
    {
        "shared",
        "jobs",
        "backend",
        "position",
        "points",
        "failures",
        "records_table",
        "records_check",
    },
    {"layers", "tfaugment", "reach"},
    {"serve", "pool"},
    {"processes"},
    {"workers", "tfheader", "tfmap", "allocator"},
    {"tfpixels", "class_weights", "feeds"},
    {"tfmix", "tfpython", "preview"},
    {"tfbatches", "service"},
    {"tfdata", "records_write", "generators"},
    {"keras_staff", "foresight"},
    {"sequence", "legacy"},
    {"split", "checks", "prediction", "migrate", "records_read"},
    {"photos", "timing", "training", "usage", "comparison", "costs", "overlap"},
    {"row_costs", "choice", "comparison_style", "bar"},
    {"stages", "advice_words"},
    {"advice"},
    {"frame_files", "plots", "resume", "meter", "peers", "fresh", "steps", "comparison_words"},
    {"tasks", "contestants", "compare_work", "comparison_table"},
    {"demo", "bout", "peers_check"},
    {"equality", "compare_advice"},
    {"comparing", "comparison_html", "comparison_plot"},
    {"cli_errors"},
    {"cli_data"},
    {"preview_frame"},
    {"cli_compare"},
    {"cli"},
]
FRAMEWORKS = {"tensorflow", "keras", "tf_keras"}
FRONTS = {
    "backend",
    "class_weights",
    "generators",
    "layers",
    "sequence",
    "tfaugment",
    "tfbatches",
    "tfmix",
    "tfpython",
}
FRONTS |= {"peers"}  # those of other frameworks
FRONTS |= {"tfdata", "tfheader", "tfmap", "tfpixels", "service", "records_read", "legacy"}
READS_FRAMES = {"columns", "classes", "multilabel", "targets", "weights", "frame"}
GIVES_FRAMES = {
    *("failures", "sequence", "tfdata", "tfset", "split", "checks", "prediction", "records_write"),
}
FRAME_WORDS = {"iloc", "loc", "iat", "isna", "dtypes", "to_numpy", "itertuples", "iterrows"}
READS_FRAMES |= {"legacy"}  # the drop-in reads a frame as its model does
GIVES_FRAMES |= {"photos", "frame_files", "tasks", "demo", "cli_data"}
GIVES_FRAMES |= {"comparing", "compare_work", "comparison_table", "peers"}
DECODERS = {"simplejpeg", "imageio", "imagecodecs", "PIL", "tifffile"}
MAY_DECODE = {
    "decode": DECODERS,
    "probe": DECODERS,
    "preview": {"PIL"},
    "sequence": {"PIL"},  # the type of a preview
    "encode": {"imagecodecs"},
    "photos": {"imageio"},  # writes files
    "render": {"PIL"},  # Pillow's antialiased filters
    "legacy": {"PIL", "simplejpeg"},  # what the original decoded with, and its equal
}


def modules() -> list[str]:
    """Name the modules; a folder counts as one."""
    found = [path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()]
    return sorted(name for name in found if not name.startswith("__"))


def source(module: str) -> str:
    files = sorted((PACKAGE / module).glob("*.py")) or [PACKAGE / f"{module}.py"]
    return "\n".join(file.read_text() for file in files)


def imports(source: str) -> tuple[set[str], set[str]]:
    """Give the dfloader modules and the other top-level packages that a source imports."""
    own, others = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "dfloader":
            names = [f"dfloader.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top == "dfloader":
                own.update(rest[:1])
            else:
                others.add(top)
    return own, others


def upward(module: str, code: str) -> set[str]:
    """Give the imports of a module that are not from a lower layer."""
    lower: set[str] = set()
    for layer in LAYERS:
        if module in layer:
            return imports(code)[0] - lower - {module}
        lower |= layer
    raise AssertionError(f"say in LAYERS where module {module!r} belongs")


@pytest.mark.parametrize("module", modules())
def test_imports_point_downward(module: str) -> None:
    assert upward(module, source(module)) == set()


def test_the_check_sees_an_upward_import() -> None:
    assert upward("spec", "from dfloader.batch import Loader") == {"batch"}
    assert upward("table", "import dfloader.spec, dfloader.render") == {"render"}


@pytest.mark.parametrize("module", modules())
def test_frameworks_frames_and_decoders_stay_where_they_belong(module: str) -> None:
    others = imports(source(module))[1]
    assert module in FRONTS or not others & FRAMEWORKS
    assert module in READS_FRAMES | GIVES_FRAMES or "pandas" not in others
    assert not others & DECODERS - MAY_DECODE.get(module, set())


def frame_words(source: str) -> set[str]:
    """Give what a source asks of an object that only a frame or a series has."""
    tree = ast.walk(ast.parse(source))
    return {node.attr for node in tree if isinstance(node, ast.Attribute)} & FRAME_WORDS


@pytest.mark.parametrize("module", modules())
def test_a_frame_is_touched_only_where_frames_are_read_or_made(module: str) -> None:
    words = frame_words(source(module))
    assert module in READS_FRAMES | GIVES_FRAMES or not words


def test_the_frame_check_sees_one() -> None:
    assert frame_words("y = df['class'].to_numpy()[0]; z = data.iloc[3]") == {"iloc", "to_numpy"}
    assert frame_words(source("columns"))


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return set(done.stdout.split())


def test_import_dfloader_loads_no_framework_and_no_pandas() -> None:
    assert not loaded_after("import dfloader") & {*FRAMEWORKS, "pandas", "numpy"}


def test_what_a_worker_imports_loads_no_framework_and_no_pandas() -> None:
    loaded = loaded_after("import dfloader.workers")
    assert "dfloader.batch" in loaded
    assert not loaded & {*FRAMEWORKS, "pandas"}


def test_the_framework_check_sees_one() -> None:
    assert "pandas" in loaded_after("import dfloader.frame")
