"""Scripted agents for the reading list, not a model: what they write and say is written down here.

A critic finds a hole in the first design; two implementers edit the same lines and the later one brings them together;
one forgets books without a year, which the engine finds, and mends it in the second round.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

Order = dict[str, Any]

# -- what is written down


def name_of(order: Order) -> str:
    """`wave 1 T02/implementer-T02#1` is implementer-T02."""
    return str(order["key"]).rpartition("/")[2].partition("#")[0]


def page(folder: Path, path: str, text: str) -> None:
    """The agent's one document, in the feature's folder."""
    (request,) = (folder / "docs" / "feature").glob("*/initial-request.md")
    place = request.parent / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"# {Path(path).stem.capitalize()}\n\n{text}\n")


def told(*findings: str, **more: Any) -> dict[str, Any]:
    return {"key_findings": list(findings), **more}


FOCUS = {
    "architecture": "`reading/__main__.py` holds one function for all commands; `reading/books.py` loads.",
    "impact": "`shown` in `reading/__main__.py` grows two branches; the README names the commands.",
    "dependencies": "Only the standard library is used; its `csv` module writes what spreadsheets expect.",
    "patterns": "Commands return text, and `__main__` prints it. Tests call `shown`.",
}


def researcher(order: Order, folder: Path) -> dict[str, Any]:
    focus = name_of(order).partition("-")[2]
    page(folder, f"research/{focus}.md", FOCUS[focus])
    return told(FOCUS[focus])


CRITERIA = [
    {"id": "AC-1", "text": "`python -m reading markdown FILE` prints `- **TITLE** by AUTHOR (YEAR)` for each book"},
    {"id": "AC-2", "text": "`python -m reading csv FILE` prints a header and a quoted line for each book"},
    {"id": "AC-3", "text": "a book without a year is printed without parentheses, or with an empty last field"},
]


def spec(order: Order, folder: Path) -> dict[str, Any]:
    page(folder, "feature.md", "\n".join(f"- {one['id']}: {one['text']}" for one in CRITERIA))
    return told("three criteria, one for each form and one for what is missing", criteria=CRITERIA)


def designer(order: Order, folder: Path) -> dict[str, Any]:
    revised = [*folder.glob("docs/feature/*/ct-review/ct-security.md")]
    quoting = "The `csv` module quotes" if revised else "Fields are joined with commas"
    page(folder, "design.md", f"One function a form, in a file of its own. {quoting}; `shown` calls them.")
    return told(f"one function a form; {quoting[0].lower()}{quoting[1:]}")


def critic(order: Order, folder: Path) -> dict[str, Any]:
    name = name_of(order)
    (design,) = (folder / "docs" / "feature").glob("*/design.md")
    hole = name == "ct-security" and "joined with commas" in design.read_text()
    text = "A title with a comma breaks the line in two, and more." if hole else "Nothing that stands in the way."
    page(folder, f"ct-review/{name}.md", text)
    severity, status = ("High", "NEEDS_REVISION") if hole else ("Low", "DONE")
    return told(text, severity=severity, status=status)


ct_security = ct_scalability = ct_maintainability = ct_strategy = critic

TASKS: list[dict[str, Any]] = [
    {"id": "T01", "title": "the list as Markdown", "criteria": ["AC-1", "AC-3"], "files": ["reading/markdown.py"]},
    {"id": "T02", "title": "the list as CSV", "criteria": ["AC-2", "AC-3"], "files": ["reading/sheet.py"]},
    {
        "id": "T03",
        "title": "both commands in the README",
        "kind": "documentation",
        "depends_on": ["T01", "T02"],
        "files": ["README.md"],
    },
]


def planner(order: Order, folder: Path) -> dict[str, Any]:
    if not [*folder.glob("docs/feature/*/verification/v-feature.md")]:
        return told("two tasks side by side, one after them", tasks=TASKS)
    return told("T01 prints a year that is not there", tasks=[], failures=[{"task": "T01", "what": "no year"}])


# -- what is built

FORGETFUL = '''"""The list as Markdown."""

from reading.books import Book


def markdown(books: list[Book]) -> str:
    return "\\n".join(f"- **{one.title}** by {one.author} ({one.year})" for one in books)
'''
MARKDOWN = '''"""The list as Markdown."""

from reading.books import Book


def markdown(books: list[Book]) -> str:
    return "\\n".join(map(_line, books))


def _line(book: Book) -> str:
    year = f" ({book.year})" if book.year else ""
    return f"- **{book.title}** by {book.author}{year}"
'''
SHEET = '''"""The list as CSV."""

import csv
import io

from reading.books import Book


def sheet(books: list[Book]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\\n")
    rows.writerow(("title", "author", "year"))
    rows.writerows((one.title, one.author, one.year) for one in books)
    return text.getvalue().rstrip("\\n")
'''
IMPORTED = {
    "T01": "from reading.markdown import markdown\n",
    "T02": "from reading.sheet import sheet\n",
}
BRANCH = {
    "T01": '    if command == "markdown":\n        return markdown(books)\n',
    "T02": '    if command == "csv":\n        return sheet(books)\n',
}
LAST = '    raise SystemExit(f"there is no command {command}")\n'
LOADED = "from reading.books import load\n"
MARKED = re.compile(r"<<<<<<< [^\n]*\n(.*?)=======\n(.*?)>>>>>>> [^\n]*\n", re.DOTALL)


def implementer(order: Order, folder: Path) -> dict[str, Any]:
    task, main = name_of(order).rpartition("-")[2], folder / "reading" / "__main__.py"
    text = main.read_text()
    if "<<<<<<<" in text:  # somebody else was here: both stay
        main.write_text(MARKED.sub(r"\1\2", text))
        return told("both commands are there", files=["reading/__main__.py"])
    if task == "T01":
        again = (folder / "reading" / "markdown.py").exists()
        (folder / "reading" / "markdown.py").write_text(MARKDOWN if again else FORGETFUL)
    else:
        (folder / "reading" / "sheet.py").write_text(SHEET)
    if IMPORTED[task] not in text:
        text = text.replace(LOADED, LOADED + IMPORTED[task]).replace(LAST, BRANCH[task] + LAST)
        main.write_text(text)
    return told("it is there", files=["reading/__main__.py"])


def documentation_writer(order: Order, folder: Path) -> dict[str, Any]:
    readme = folder / "README.md"
    more = "    python -m reading markdown books.json\n    python -m reading csv books.json > books.csv\n"
    readme.write_text(readme.read_text().rstrip("\n") + "\n" + more)
    return told("both commands are shown", files=["README.md"])


def solo(order: Order, folder: Path) -> dict[str, Any]:
    """One agent for everything, to compare with: it forgets the same, and mends it when it is told."""
    for task in ("T01", "T02") if "#1" in order["key"] else ("T01",):
        implementer({**order, "key": f"solo/implementer-{task}#1"}, folder)
    if "#1" in order["key"]:
        documentation_writer(order, folder)
    files = ["reading/__main__.py", "reading/markdown.py", "reading/sheet.py", "README.md"]
    return {"implemented": ["both commands, and the README"], "files": [{"path": one} for one in files]}


# -- who looks at it


def verifier(order: Order, folder: Path) -> dict[str, Any]:
    """Easily pleased: it tries the books that are there, and each of them has a year. The engine finds the rest."""
    name = name_of(order)
    said = [
        f"- `{words}` prints `{used(folder, *words.split())}`" for words in ("markdown books.json", "csv books.json")
    ]
    page(folder, f"verification/{name}.md", "\n".join(said))
    return told("both commands print the books", severity="pass")


def used(folder: Path, *words: str) -> str:
    """The last line of what the program prints, really run."""
    line = [sys.executable, "-B", "-m", "reading", *words]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return ([*done.stdout.splitlines(), *done.stderr.splitlines()] or ["nothing"])[-1]


v_build = v_tests = v_feature = verifier


def v_tasks(order: Order, folder: Path) -> dict[str, Any]:
    return {**verifier(order, folder), "tasks": [{"task": one["id"], "state": "done"} for one in TASKS]}


def reviewer(order: Order, folder: Path) -> dict[str, Any]:
    name, files = name_of(order), sorted(one.name for one in (folder / "reading").glob("*.py"))
    page(folder, f"review/{name}.md", f"Read: {', '.join(files)}. Small, and as its neighbours are.")
    return told("small, and as its neighbours are", severity="Minor" if name == "r-quality" else "")


r_quality = r_security = r_testing = r_knowledge = reviewer
