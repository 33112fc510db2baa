"""The architecture page and the READMEs of the packages are true: every name on them exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "trued"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGES = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and list(path.rglob("*.py")))
MODULES = sorted(path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__"))
_CODE = re.compile(r"`([^`\s]+)`")


def layers() -> list[list[str]]:
    """The rows of the import contract, top first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = next(one["layers"] for one in contracts if one["id"] == "down")
    return [re.findall(r"\w+", row) for row in rows]


def missing_paths(text: str) -> list[str]:
    """Paths in backticks that are neither below src/trued nor below the repository."""
    named = [word for word in _CODE.findall(text) if re.fullmatch(r"[\w./-]*(/|\.(py|j2|toml|css|md))[\w./-]*", word)]
    here = [word for word in named if word not in ("flow.py", "order.json", "report.json") and word != "/"]
    return [word for word in here if not (SOURCE / word).exists() and not (ROOT / word).exists()]


def test_every_path_on_the_map_exists() -> None:
    assert missing_paths(PAGE) == []


def test_every_name_that_the_map_places_in_a_file_is_there() -> None:
    placed = re.findall(r"`([A-Za-z_.]+)`(?: \([^()]*\))? (?:in|of) `([a-z_/]+\.py)`", PAGE)
    assert len(placed) > 30
    words = {file: set(re.findall(r"\w+", (SOURCE / file).read_text())) for _, file in placed}
    assert [(name, file) for name, file in placed if name.split(".")[-1] not in words[file]] == []


def test_every_name_in_a_list_after_a_file_is_in_that_file() -> None:
    lists = re.findall(r"in `([a-z_/]+\.py)`: ((?:`\w+`(?:, )?)+)", PAGE)
    assert sum(len(_CODE.findall(names)) for _, names in lists) > 10
    for file, names in lists:
        assert [one for one in _CODE.findall(names) if one not in (SOURCE / file).read_text()] == [], file


def test_every_package_and_module_has_a_row_on_the_map() -> None:
    block = PAGE.partition("## Layers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", block, re.M)
    assert sorted(rows) == sorted([*PACKAGES, *MODULES])


def test_the_layers_on_the_map_are_those_of_the_import_contract() -> None:
    block = PAGE.partition("## Layers")[2].partition("\n## ")[0]
    drawn = [re.findall(r"\w+", line) for line in block.splitlines() if line.startswith("    ")]
    assert drawn == layers()


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_says_what_it_holds_where_to_start_and_what_it_may_import(name: str) -> None:
    text = (SOURCE / name / "README.md").read_text()
    assert 5 <= len(text.splitlines()) <= 10
    assert text.startswith(f"# {name}\n")
    start = next(line for line in text.splitlines() if line.startswith("- Start reading:"))
    assert _CODE.findall(start)
    assert missing_paths(start) == []
    own = next(number for number, row in enumerate(layers()) if name in row)
    below = [module for row in layers()[own + 1 :] for module in row]
    allowed = next(line for line in text.splitlines() if line.startswith("- May import:"))
    assert _CODE.findall(allowed) == below


def test_newcomers_are_sent_to_the_map() -> None:
    for page in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "docs/index.md"):
        assert "architecture.md" in (ROOT / page).read_text(), page
    assert "glossary.md" in PAGE


@pytest.mark.parametrize(
    ("row", "error"), [("a run does not resume", "Diverged"), ("a limit ends a run, or does not", "LimitReached")]
)
def test_a_row_about_an_error_names_each_file_that_raises_it(row: str, error: str) -> None:
    text = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    source = ROOT / "src" / "trued"
    raising = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if path.name != "errors.py" and f"{error}(" in path.read_text()
    }
    assert raising
    assert {path for path in raising if path not in text} == set()
