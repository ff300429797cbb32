"""Rewrite a script for keras-preprocessing or Keras 2 so that it runs with dfloader.

What is rewritten, and nothing else:

1. ``ImageDataGenerator`` of keras_preprocessing, Keras, tf.keras or tf_keras comes from
   ``dfloader.legacy``.
2. ``model.fit_generator(...)`` and its two sisters become functions of dfloader; so do ``fit``,
   ``evaluate`` and ``predict`` where they are given workers, which Keras 3 does not take.
3. ``flow_from_dataframe`` loses ``has_ext``, ``sort`` and ``drop_duplicates``, and its
   ``class_mode="other"`` becomes ``"raw"``.

`Migration.notes` says what a reader has to decide. Needs LibCST, the extra ``migrate``.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import libcst as cst
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor
    from libcst.metadata import MetadataWrapper, PositionProvider, QualifiedNameProvider
except ModuleNotFoundError as missing:
    if missing.name != "libcst":
        raise
    raise ImportError(
        'Migrating scripts needs LibCST: pip install "dfloader[migrate]".'
    ) from missing

_GENERATOR = "ImageDataGenerator"
_MODULES = {
    f"{package}.{module}"
    for package in ("keras", "tensorflow.keras", "tf_keras", "tensorflow.python.keras")
    for module in ("preprocessing.image", "preprocessing", "_legacy.preprocessing.image")
} | {
    "keras_preprocessing.image",
    "keras_preprocessing.image.image_data_generator",
    "keras.src.legacy.preprocessing.image",
    "keras.src.preprocessing.image",
    "tf_keras.src.preprocessing.image",
}
_METHODS = {"fit_generator", "evaluate_generator", "predict_generator"}
_WITH_WORKERS = {method.removesuffix("_generator"): method for method in _METHODS}
_WORKER_WORDS = {"workers", "use_multiprocessing", "max_queue_size"}
_NOT_OF_GENERATORS = {
    *("y", "sample_weight", "batch_size", "validation_split", "validation_batch_size")
}
_IGNORED_WORDS = {"has_ext", "sort", "drop_duplicates"}


@dataclass(frozen=True)
class Migration:
    """A script before and after.

    Attributes:
        notes: line number and what to look at there.
    """

    before: str
    after: str
    notes: tuple[tuple[int, str], ...]

    def changed_lines(self, name: str = "script.py") -> str:
        """Show what changes, as a unified diff without context; empty if nothing does."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, name, f"{name} (migrated)", n=0))


def migrate(source: str) -> Migration:
    """Rewrite a script's text.

    Raises:
        SyntaxError: it is not Python 3.

    Examples:
        >>> from dfloader.migrate import migrate
        >>> print(migrate("model.fit_generator(batches, epochs=3)").after)
        from dfloader import fit_generator
        <BLANKLINE>
        fit_generator(model, batches, epochs=3)
    """
    try:
        wrapper = MetadataWrapper(cst.parse_module(source))
    except cst.ParserSyntaxError as error:
        raise SyntaxError(str(error)) from error
    rewrite = _Rewrite()
    module = wrapper.visit(rewrite)
    context = CodemodContext()
    for package, name in sorted(rewrite.needed):
        AddImportsVisitor.add_needed_import(context, package, name)
    after = AddImportsVisitor(context).transform_module(module)
    return Migration(source, after.code, tuple(sorted(rewrite.notes)))


def migrate_file(path: str | Path, *, write: bool = False) -> Migration:
    """Rewrite a script; the file itself only with ``write``.

    Raises:
        OSError: there is no such file.
        SyntaxError: it is not Python 3.
    """
    path = Path(path)
    migration = migrate(path.read_text(encoding="utf-8"))
    if write and migration.after != migration.before:
        path.write_text(migration.after, encoding="utf-8")
    return migration


def report(path: str | Path, *, write: bool = False) -> str:
    """Migrate a script and say what changes and what to look at; for the command line."""
    migration = migrate_file(path, write=write)
    notes = "".join(f"{path}:{line}: {text}.\n" for line, text in migration.notes)
    changes = migration.changed_lines(str(path))
    if not changes:
        return notes + f"{path}: nothing to change.\n"
    done = "Written." if write else "Nothing is written; say --write to change the file."
    return f"{changes}\n{notes}{done}\n"


class _Rewrite(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (QualifiedNameProvider, PositionProvider)

    def __init__(self) -> None:
        super().__init__()
        self.needed: set[tuple[str, str]] = set()
        self.notes: list[tuple[int, str]] = []

    def leave_SimpleStatementLine(  # noqa: N802 - LibCST calls it so
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        """Split the generator off the names a line imports from an old module."""
        match updated_node.body:
            case [cst.ImportFrom(names=[*names]) as line] if _module_of(line) in _MODULES:
                return self._split(updated_node, line, names)
            case [cst.ImportFrom(names=cst.ImportStar()) as line] if _module_of(line) in _MODULES:
                self._note(
                    original_node,
                    f"import *: if it is for {_GENERATOR}, add below it "
                    f"`from dfloader.legacy import {_GENERATOR}`",
                )
        return updated_node

    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """Replace ``tf.keras.preprocessing.image.ImageDataGenerator`` by the imported name."""
        names = {name.name for name in self.get_metadata(QualifiedNameProvider, original_node, ())}
        if not names & {f"{module}.{_GENERATOR}" for module in _MODULES}:
            return updated_node
        self.needed.add(("dfloader.legacy", _GENERATOR))
        return cst.Name(_GENERATOR)

    def leave_Call(  # noqa: N802
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.Call:
        """Rewrite the calls of methods, by the method's name."""
        match updated_node.func:
            case cst.Attribute(value=owner, attr=cst.Name(value=method)):
                pass
            case _:
                return updated_node
        words = _words(updated_node)
        if method == "flow_from_dataframe":
            self._note_traps(original_node, words)
            return _without_old_words(updated_node)
        if method in _WITH_WORKERS and words & _WORKER_WORDS:
            if words & _NOT_OF_GENERATORS or len(_positional(updated_node)) > 1:
                self._note(original_node, f"Keras 3's {method} takes no workers: leave them out")
                return updated_node
            method = _WITH_WORKERS[method]
        if method not in _METHODS or self._is_ours(original_node):
            return updated_node
        self.needed.add(("dfloader", method))
        return _as_function(updated_node, owner, method)

    def _split(
        self, line: cst.SimpleStatementLine, imported: cst.ImportFrom, names: Sequence[Any]
    ) -> Any:
        ours = [name for name in names if name.evaluated_name == _GENERATOR]
        if not ours:
            return line
        module = cst.parse_expression("dfloader.legacy")
        new = line.with_changes(body=[_importing(imported, ours, module)])
        rest = [name for name in names if name not in ours]
        if not rest:
            return new
        old = line.with_changes(body=[_importing(imported, rest, imported.module)])
        return cst.FlattenSentinel([old, new.with_changes(leading_lines=[])])

    def _is_ours(self, call: cst.Call) -> bool:
        names = self.get_metadata(QualifiedNameProvider, call.func, ())
        return any(name.name.startswith("dfloader.") for name in names)

    def _note_traps(self, call: cst.Call, words: set[str]) -> None:
        if "subset" in words:
            self._note(
                call,
                "subset: validation is the first rows of the frame as they stand. Shuffle it "
                "before, or use dfloader.split_dataframe(df, fractions, stratify=...)",
            )
        if "classes" in words:
            self._note(
                call,
                "classes: the order given now counts; keras-preprocessing sorted it. For models "
                "trained with that, legacy_sort=True",
            )
        if "shuffle" not in words and _is_none(call, "class_mode"):
            self._note(
                call,
                "class_mode=None with shuffle left on: predictions come in random order. If they "
                "are for the frame's rows, shuffle=False, or dfloader.predict",
            )

    def _note(self, node: cst.CSTNode, text: str) -> None:
        self.notes.append((self.get_metadata(PositionProvider, node).start.line, text))


def _module_of(line: cst.ImportFrom) -> str:
    return "" if line.module is None else cst.Module([]).code_for_node(line.module)


def _importing(line: cst.ImportFrom, names: Sequence[Any], module: Any) -> cst.ImportFrom:
    last = names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return line.with_changes(names=[*names[:-1], last], module=module)


def _words(call: cst.Call) -> set[str]:
    return {arg.keyword.value for arg in call.args if arg.keyword is not None}


def _positional(call: cst.Call) -> list[cst.Arg]:
    return [arg for arg in call.args if arg.keyword is None]


def _is_none(call: cst.Call, word: str) -> bool:
    return any(
        arg.keyword is not None
        and arg.keyword.value == word
        and isinstance(arg.value, cst.Name)
        and arg.value.value == "None"
        for arg in call.args
    )


def _as_function(call: cst.Call, owner: cst.BaseExpression, name: str) -> cst.Call:
    args = [_first_for_generator(arg) for arg in call.args]
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    model = cst.Arg(owner, comma=comma if args else cst.MaybeSentinel.DEFAULT)
    return call.with_changes(func=cst.Name(name), args=[model, *args])


def _first_for_generator(arg: cst.Arg) -> cst.Arg:
    """Rename ``fit(x=...)`` to what the generator methods call it."""
    named_x = arg.keyword is not None and arg.keyword.value == "x"
    return arg.with_changes(keyword=cst.Name("generator")) if named_x else arg


def _without_old_words(call: cst.Call) -> cst.Call:
    kept = [_new_mode(arg) for arg in call.args if _keyword(arg) not in _IGNORED_WORDS]
    if kept and call.args and call.args[-1] is not kept[-1] and len(kept) < len(call.args):
        kept[-1] = kept[-1].with_changes(comma=call.args[-1].comma)
    return call.with_changes(args=kept)


def _new_mode(arg: cst.Arg) -> cst.Arg:
    match arg:
        case cst.Arg(keyword=cst.Name(value="class_mode"), value=cst.SimpleString() as mode):
            if mode.evaluated_value == "other":
                return arg.with_changes(value=mode.with_changes(value='"raw"'))
    return arg


def _keyword(arg: cst.Arg) -> str | None:
    return None if arg.keyword is None else arg.keyword.value
