"""Scripted agents for the flat's expenses, not a model: what they write and say is written down here.

A developer takes too many decimals, and QA finds it; a user types blanks between names, UAT rejects the feature, and
the PM makes a task of it; debts in both directions are not set off, QA overlooks that, and the engine finds it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Order = dict[str, Any]

# -- who plans

RECORDING = {
    "name": "record an expense",
    "priority": "high",
    "criteria": [  # the goal's own words, which the user's file covers: nothing is left that nobody checks
        "`python -m expenses add FILE PAYER AMOUNT NAMES` writes an expense down and prints the whole book",
        "An AMOUNT that is not above zero, or has more than two decimals, is refused with exit code 2",
    ],
    "stories": [
        {
            "name": "somebody has paid, and says so",
            "tasks": [
                {"name": "add", "title": "`add` writes an expense down, and the README shows it"},
                {"title": "what is no amount is refused", "depends_on": ["add"]},
            ],
        }
    ],
}
OWING = {
    "name": "who owes whom",
    "priority": "medium",
    "depends_on": ["record an expense"],
    "criteria": [
        "An expense is shared to the cent: cents that are left over are borne by those who are named first",
        "Where nobody owes anything, `owes` prints `nobody owes anybody`",
    ],
    "stories": [
        {
            "name": "at the end of the month",
            "tasks": [
                {"name": "shares", "title": "an expense is shared to the cent"},
                {"title": "`owes` prints the debts, and the README shows it", "depends_on": ["shares"]},
            ],
        }
    ],
}


def pm(order: Order, folder: Path) -> dict[str, Any]:
    if order["schema"]["title"] == "Breakdown":
        return {"features": [RECORDING, OWING], "decisions": ["recording comes first: without it nothing is owed"]}
    return {"tasks": [{"title": "blanks around a name are no part of it"}], "decisions": ["as the goal's words say"]}


SPEC = {
    "F1": "`expenses/recording.py` has `add(path, payer, amount, names)`; `__main__` calls it, and shows the book.",
    "F2": "`expenses/sharing.py` divides one expense; `expenses/owing.py` adds up all of them, and prints.",
}
TESTS = {"F1": ("F1-T1", "tests/test_recording.py"), "F2": ("F2-T1", "tests/test_sharing.py")}


def techlead(order: Order, folder: Path) -> dict[str, Any]:
    if order["schema"]["title"] == "Clarified":
        return {
            "answer": "Yes: a share may be nothing, and who owes nothing has no line.",
            "decisions": ["no line for 0.00"],
        }
    feature = place(order).partition("-")[0]
    task, path = TESTS[feature]
    tests = [{"command": f"python -m pytest -q {path}", "task": task}]
    return {"spec": SPEC[feature], "tests": tests, "decisions": ["whole cents everywhere: floats lose some"]}


# -- what is built

RECORD = '''"""A new expense, from the words of a command line."""

from decimal import Decimal

from expenses.book import Expense, load, save


def add(path: str, payer: str, amount: str, names: str) -> list[Expense]:
    book = [*load(path), Expense(payer, cents(amount), tuple(names.split(",")))]
    save(path, book)
    return book


def cents(amount: str) -> int:
    return int(Decimal(amount) * 100)
'''
REFUSE = """

def cents(amount: str) -> int:
    if not AMOUNT.fullmatch(amount) or not int(Decimal(amount) * 100):
        print(f"{amount} is no amount: write one like 12.50", file=sys.stderr)
        raise SystemExit(2)
    return int(Decimal(amount) * 100)
"""
ANY_DECIMALS, TWO_DECIMALS = r"[0-9]+(\.[0-9]+)?", r"[0-9]+(\.[0-9]{1,2})?"
SHARE = '''"""One expense, divided among those whom it was for."""

from expenses.book import Expense


def shares(expense: Expense) -> list[tuple[str, int]]:
    """To the cent: what is left over is borne by those who are named first."""
    each, left = divmod(expense.cents, len(expense.people))
    return [(name, each + (number < left)) for number, name in enumerate(expense.people)]
'''
OWE = '''"""Who owes whom, by all that is in the book."""

from collections import Counter

from expenses.book import Expense, money
from expenses.sharing import shares


def owing(book: list[Expense]) -> str:
    lines = [f"{name} owes {payer} {money(cents)}" for (name, payer), cents in sorted(debts(book).items())]
    return "\\n".join(lines) or "nobody owes anybody"


def debts(book: list[Expense]) -> dict[tuple[str, str], int]:
    found = Counter[tuple[str, str]]()
    for one in book:
        for name, cents in shares(one):
            if name != one.payer:
                found[name, one.payer] += cents
    return {pair: cents for pair, cents in found.items() if cents > 0}
'''
SET_OFF = OWE.replace(
    "                found[name, one.payer] += cents\n",
    "                found[name, one.payer] += cents\n                found[one.payer, name] -= cents\n",
)
BRANCH = {
    "add": '    if command == "add":\n        return "\\n".join(map(str, add(path, *words)))\n',
    "owes": '    if command == "owes":\n        return owing(load(path))\n',
}
LAST = '    raise SystemExit(f"there is no command {command}")\n'
LOADED = "from expenses.book import load\n"
TEST_RECORDING = """from pathlib import Path

from expenses.recording import add


def test_what_is_added_is_in_the_book(tmp_path: Path) -> None:
    path = str(tmp_path / "book.json")
    add(path, "Ann", "1.50", "Ann,Ben")
    assert [str(one) for one in add(path, "Ben", "2", "Ann")] == ["Ann paid 1.50 for Ann, Ben", "Ben paid 2.00 for Ann"]
"""
TEST_SHARING = """from expenses.book import Expense
from expenses.sharing import shares


def test_no_cent_is_lost() -> None:
    assert shares(Expense("Ann", 100, ("Ann", "Ben", "Cem"))) == [("Ann", 34), ("Ben", 33), ("Cem", 33)]
"""
ASKED = "Three cents for five people: may a share be nothing?"


def dev(order: Order, folder: Path) -> dict[str, Any]:
    task, code = place(order), folder / "expenses"
    if task == "F2-T1" and ASKED not in order["brief"] and turn(order) == 1:
        return {"asks": {"to": "techlead", "text": ASKED}, "notes": ["nothing is built yet"]}
    before = {one: one.read_text() for one in files(folder)}
    if task == "F1-T1":
        write(folder, "expenses/recording.py", RECORD)
        write(folder, "tests/test_recording.py", TEST_RECORDING)
        command(folder, "add", "from expenses.recording import add\n", 'add flat.json Ann 12.50 "Ann, Cem"')
    elif task == "F1-T2":
        pattern = ANY_DECIMALS if turn(order) == 1 else TWO_DECIMALS
        text = RECORD.partition("\n\ndef cents")[0].replace("from decimal", "import re\nimport sys\nfrom decimal")
        text = text.replace("\n\n\ndef add", f'\n\nAMOUNT = re.compile(r"{pattern}")\n\n\ndef add') + REFUSE
        write(folder, "expenses/recording.py", text)
    elif task == "F1-T3":
        text = (code / "recording.py").read_text()
        names = 'tuple(one.strip() for one in names.split(","))'
        write(folder, "expenses/recording.py", text.replace('tuple(names.split(","))', names))
    elif task == "F2-T1":
        write(folder, "expenses/sharing.py", SHARE)
        write(folder, "tests/test_sharing.py", TEST_SHARING)
    else:
        write(folder, "expenses/owing.py", OWE if turn(order) == 1 else SET_OFF)
        command(folder, "owes", "from expenses.owing import owing\n", "owes flat.json")
    changed = [str(one.relative_to(folder)) for one in files(folder) if before.get(one) != one.read_text()]
    return {"implemented": [f"{task}: {', '.join(changed)}"], "files": changed}


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).write_text(text)


def files(folder: Path) -> list[Path]:
    return [one for kind in ("expenses/*.py", "tests/*.py", "README.md") for one in sorted(folder.glob(kind))]


def command(folder: Path, name: str, imported: str, shown: str) -> None:
    """One command more, in the program and in the README."""
    main, readme = folder / "expenses" / "__main__.py", folder / "README.md"
    text = main.read_text()
    if BRANCH[name] not in text:
        main.write_text(text.replace(LOADED, LOADED + imported).replace(LAST, BRANCH[name] + LAST))
        readme.write_text(f"{readme.read_text().rstrip()}\n    python -m expenses {shown}\n")


# -- who looks at it

BOOK = [{"payer": "Emil", "cents": 900, "people": ["Dora", "Emil", "Finn"]}]


def qa(order: Order, folder: Path) -> dict[str, Any]:
    """Thorough with amounts; easily pleased with debts: one expense is all that it tries."""
    task, tried, failures = place(order), list[str](), list[dict[str, Any]]()
    for amount in ("12.50", "0", "-3", "ten", "1.005") if task == "F1-T2" else ("7",) if "F1" in task else ():
        words = ["add", "{files}/book.json", "Dora", amount, "Dora,Emil"]
        code, said = used(folder, *words)
        tried.append(f"{told(words)}: exit code {code}, {shown(said)}")
        if code == 0 and amount in ("0", "-3", "ten", "1.005"):
            failures.append(refusal(words, said))
    if task == "F2-T2":
        code, said = used(folder, "owes", "{files}/book.json", book=BOOK)
        tried.append(f"owes, with one expense: exit code {code}, {shown(said)}")
    if not tried:
        tried.append("read it: nothing calls it yet")
    return {"result": "FAIL" if failures else "PASS", "tried": tried, "failures": failures}


def refusal(words: list[str], said: str) -> dict[str, Any]:
    return {
        "what": f"{words[3]} is taken as an amount",
        "reproduction": [told(words)],
        "expected": "exit code 2, and nothing is written down",
        "actual": f"exit code 0, {shown(said)}",
        "case": {"run": ["python", "-m", "expenses", *words], "stdout": "", "exit": 2},
    }


def uat(order: Order, folder: Path) -> dict[str, Any]:
    """As the people of the flat would: with blanks after commas, and with several expenses."""
    tried, issues = list[str](), list[dict[str, Any]]()
    words = ["add", "{files}/book.json", "Dora", "3.00", "Dora , Emil"]
    code, said = used(folder, *words)
    tried.append(f"{told(words)}: exit code {code}, {shown(said)}")
    if said != (expected := "Dora paid 3.00 for Dora, Emil\n"):
        issues.append(
            {
                "what": "with a blank behind her name Dora is somebody else",
                "reproduction": [told(words)],
                "expected": expected.strip(),
                "actual": said.strip(),
                "case": {"run": ["python", "-m", "expenses", *words], "stdout": expected, "exit": 0},
            }
        )
    if "F1" not in place(order):
        code, said = used(folder, "owes", "{files}/book.json", book=[*BOOK, {**BOOK[0], "payer": "Dora"}])
        tried.append(f"owes, after both had paid: exit code {code}, {shown(said)}")
    return {"decision": "failed" if issues else "passed", "tried": tried, "issues": issues}


def used(folder: Path, *words: str, book: list[dict[str, Any]] | None = None) -> tuple[int, str]:
    """The program, really run, with a book of one's own."""
    with tempfile.TemporaryDirectory() as own:
        if book:
            (Path(own) / "book.json").write_text(json.dumps(book))
        line = [sys.executable, "-B", "-m", "expenses", *(one.replace("{files}", own) for one in words)]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def shown(said: str) -> str:
    return " / ".join(said.splitlines()) or "nothing"


def told(words: list[str]) -> str:
    return " ".join(["python -m expenses", *words[:-1], f"'{words[-1]}'"]).replace("{files}/", "")


# -- where one is


def place(order: Order) -> str:
    """`feature F1/task F1-T2/dev#1` is F1-T2, `feature F1/uat#1` is F1."""
    return str(order["key"]).rpartition("/")[0].rpartition(" ")[2]


def turn(order: Order) -> int:
    return int(str(order["key"]).rpartition("#")[2])
