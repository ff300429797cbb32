"""What a comparison looks like: table, notes, picture, page; its JSON as the docs say."""

import io
import json
import re
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import pytest
from rich.console import Console
from typer.testing import CliRunner

from dfloader.cli import app
from dfloader.cli_compare import read_numbers, read_size
from dfloader.comparison import Comparison, LeftOut, Machine, Proof, Result, Round, Work, to_json
from dfloader.comparison_html import page
from dfloader.comparison_plot import draw
from dfloader.comparison_table import print_comparison
from dfloader.usage import WrongUseError

ROOT = Path(__file__).parent.parent
DOCS = (ROOT / "docs" / "comparison.md").read_text("utf-8")
OURS = frozenset({"threads"})


def result(name: str, loader: str, *rates: float) -> Result:
    rounds = [Round(r + 10, r, 0.25, 1000 / r, 300.0 + i, 0.5) for i, r in enumerate(rates)]
    return Result(name, loader, 2, tuple(rounds), "" if loader in OURS else "no <EXIF>")


FOUND = Comparison(
    Work("a&b.csv", 1000, 2000, 32, {"dtype": "'uint8'"}, "5ms"),
    Machine("AMD EPYC", 2, 24.0, "Linux", {"Python": "3.11"}, 0.5, 2.0),
    (result("peer", "keras", 400, 500, 600), result("ours", "threads", 1000, 1234, 1300)),
    (LeftOut("torch DataLoader", "torch is not installed"),),
    Proof(("ours",), 64, 0.01),
    "Use two threads.",
)


def printed(*, terminal: bool, width: int = 80) -> str:
    file = io.StringIO()
    print_comparison(FOUND, Console(file=file, force_terminal=terminal, width=width))
    return file.getvalue()


def test_plain_text_has_a_line_a_loader_uncut() -> None:
    lines = printed(terminal=False).splitlines()
    assert re.search(r"^ *1 +ours +1,234 \(1,000-1,300\) +1,244 \(1,010-1,310\)", lines[2])
    assert re.search(r"^ *2 +peer +500 \(400-600\) ", lines[3])
    assert printed(terminal=False).isascii()


def test_a_terminal_gets_a_table_that_fits() -> None:
    for width in (80, 110, 150):
        out = re.sub(r"\x1b\[[0-9;]*m", "", printed(terminal=True, width=width))
        assert max(map(len, out.splitlines())) <= width
        assert "1,000-1,300" in out
        assert "…" not in out


def test_what_must_be_known_is_said_below_the_table() -> None:
    out = printed(terminal=False)
    for words in (
        "ours is the fastest: its slowest round beat every other's best.",
        "ours gave equal batches (64 rows",
        "AMD EPYC, 2 cores allowed, 24 GB, Linux",
        "Load average 0.5 before, 2.0 after.",
        "peer: no <EXIF>.",
        "Left out: torch DataLoader: torch is not installed.",
        "Advice: Use two threads.",
        "trained with 5ms",
    ):
        assert words in out


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_picture_is_drawn_in_the_form_asked_for(form: str, tmp_path: Path) -> None:
    path = tmp_path / "c.part"
    draw(path, FOUND, OURS, form=form)
    if form == "svg":
        assert "<svg" in path.read_text()
    else:
        pixels = iio.imread(path, extension=".png")
        assert pixels.shape[1] > 1000
        assert (pixels[..., :3] == (0x44, 0x77, 0xAA)).all(axis=-1).sum() > 1000  # a bar of ours


def test_the_page_holds_everything_and_needs_nothing() -> None:
    html = page(FOUND, OURS)
    assert not re.findall(r'(?:src|href)="|url\(|@import', html)
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in html
    assert "prefers-color-scheme:dark" in html
    for words in ("a&amp;b.csv", "no &lt;EXIF&gt;", "Use two threads.", "torch is not installed"):
        assert words in html
    assert '<rect width="91.13%"' in html  # 1234 of 1300, of 96 %
    assert html.count('<div class="bar ours">') == html.count('<div class="bar">') == 6


def test_the_page_holds_the_json() -> None:
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page(FOUND, OURS))
    assert data is not None
    assert json.loads(data[1]) == to_json(FOUND)


def wrong(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Name what does not fit a JSON Schema, of the words that the schema in the docs uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = {"object": dict, "array": list, "string": str, "null": type(None), "integer": int}
    kinds |= {"number": (int, float), "boolean": bool}  # type: ignore[dict-item]
    types = schema.get("type", [])
    allowed = [types] if isinstance(types, str) else types
    if "const" in schema and value != schema["const"]:
        return [f"{at} is not {schema['const']!r}"]
    if allowed and not any(isinstance(value, kinds[name]) for name in allowed):
        return [f"{at} is no {allowed}"]
    found = []
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        found += [
            f"{at} lacks {name}" for name in schema.get("required", known) if name not in value
        ]
        found += [f"{at} has {name}" for name in value if name not in known]
        for name in set(value) & set(known):
            found += wrong(value[name], known[name], root, f"{at}.{name}")
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for name, part in value.items():
            found += wrong(part, schema["additionalProperties"], root, f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, part in enumerate(value):
            found += wrong(part, schema["items"], root, f"{at}[{i}]")
    return found


def documented() -> dict[str, Any]:
    found = re.search(r"^```json\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    assert found is not None
    schema: dict[str, Any] = json.loads(found[1])
    return schema


def test_the_json_is_as_the_documentation_says() -> None:
    schema = documented()
    assert wrong(json.loads(json.dumps(to_json(FOUND))), schema, schema) == []


def test_the_validation_sees_what_is_wrong() -> None:
    schema, found = documented(), to_json(FOUND)
    found["results"][0]["rounds"][0]["peak_mb"] = "much"
    found["more"] = 1
    del found["machine"]["cores"]
    assert sorted(wrong(found, schema, schema)) == [
        "$ has more",
        "$.machine lacks cores",
        "$.results[0].rounds[0].peak_mb is no ['number']",
    ]


def test_every_column_and_option_is_documented() -> None:
    for name in (*FOUND.results[0].rounds[0].__dict__, "place", "rounds", "workers", "loader"):
        assert f"`{name}`" in DOCS
    for name in ("--plot", "--json", "--html", "--model", "--budget", "--rounds", "--loaders"):
        assert name in DOCS


@pytest.mark.parametrize(("text", "size"), [("224", (224, 224)), ("48x64", (48, 64))])
def test_sizes_are_read(text: str, size: tuple[int, int]) -> None:
    assert read_size(text) == size


def test_what_is_no_size_or_number_says_so() -> None:
    with pytest.raises(WrongUseError, match="--size big is neither"):
        read_size("big")
    with pytest.raises(WrongUseError, match="--workers 0,two: say whole numbers"):
        read_numbers("0,two")


def run(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "x"], "--workers x: say whole numbers"),
        (["--augment", "heavy"], "--augment heavy is not one of light, imagenet"),
        (["--plot", "c.bmp"], "does not end in one of .png, .svg, .pdf"),
        (["--json", "no/such/c.json"], "There is no folder"),
        (["--loaders", "thread"], "Did you mean 'threads'"),
        (["--model", "big"], "'big' is no file"),
        (["--class-mode", "one"], "class_mode='one' is not one of"),
    ],
)
def test_wrong_use_is_status_2_and_a_sentence(words: list[str], message: str) -> None:
    status, _, err = run(ROOT / "sample_data" / "labels.csv", *words)
    assert status == 2
    assert message in err
    assert "Traceback" not in err


def test_a_problem_in_the_frame_is_status_1(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("filename,class\nnone.jpg,cat\n")
    status, _, err = run(tmp_path / "f.csv")
    assert status == 1
    assert "none.jpg" in err


def test_the_command_writes_all_that_it_is_asked_for(tmp_path: Path) -> None:
    places = [tmp_path / f"c.{form}" for form in ("png", "json", "html")]
    words = "--loaders threads --workers 1 --rounds 1 --budget 1 --size 32"
    status, out, err = run(
        ROOT / "sample_data" / "labels.csv", *words.split(), "--plot", places[0],
        "--json", places[1], "--html", places[2],
    )  # fmt: skip
    assert status == 0, err
    assert out.isascii()
    assert "Nothing is ranked: one round has no spread." in out
    assert [line for line in out.splitlines() if line.startswith("Wrote")] == [
        f"Wrote {path}." for path in places
    ]
    schema, found = documented(), json.loads(places[1].read_text())
    assert wrong(found, schema, schema) == []
    assert {each["loader"] for each in found["results"]} == {"threads"}
    assert iio.imread(places[0]).shape[1] > 1000
    assert "labels.csv" in places[2].read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.html", "c.json", "c.png"]
