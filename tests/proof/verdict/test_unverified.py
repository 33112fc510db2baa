"""Warnings quote what no check can decide; they change no grade."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial, quiet
from trued.model import Author, CallCase, CommandCheck, Contract, ExamplesCheck, Grade, Judged, Requirement, TestsCheck
from trued.model.events import JournalEvent
from trued.model.events.proof import CheckRan
from trued.proof.hashes import check_hash
from trued.proof.prove import prove
from trued.proof.verdict.unverified import Observed, list_warnings

TEXT = "slugify lower-cases its text; it joins words with one dash. It is fast and robust"


def contract(**more: object) -> Contract:
    return Contract.model_validate({"base": "b", "requirements": (), **more})


def told(requirement: Requirement, seen: Observed | None = None, **more: object) -> list[str]:
    judged = Judged(id=requirement.id, text=requirement.text, grade=Grade.PROVEN, why=("x",), holds=True)
    return list_warnings(contract(**more), [requirement], [judged], seen or Observed())


@pytest.mark.spec("LAW-11", "LAW-12")
def test_clauses_that_no_case_quotes_are_listed_word_for_word() -> None:
    case = CallCase(call="a:b", returns=1, quotes="joins words with one dash")
    found = told(Requirement(id="r", text=TEXT, checks=(ExamplesCheck(cases=(case,)),)))
    assert "“slugify lower-cases its text”, “It is fast and robust”" in found[0]


@pytest.mark.spec("LAW-11", "LAW-12")
def test_cases_of_the_users_own_need_not_say_what_they_are_about() -> None:
    check = ExamplesCheck(cases=(CallCase(call="a:b", returns=1),))
    one = Requirement(id="r", text=TEXT, checks=(check,))
    assert not [line for line in told(one) if "no case quotes" in line]
    author = {check_hash(check): Author(role="examiner", agent="x")}
    assert [line for line in told(one, authors=author) if "no case quotes" in line]


@pytest.mark.spec("LAW-11")
async def test_nothing_is_said_to_run_nowhere_beside_a_case_that_ran_it_out_of_sight(tmp_path: Path) -> None:
    """The engine cannot see which files a command line ran."""
    case = {"run": ["python", "a.py"], "stdout": "1\n"}
    checks = [{"kind": "examples", "cases": [case]}]
    trial = Trial(tmp_path, {"a.py": "print(0)\n"}, [{"id": "r", "text": "it prints 1", "checks": checks}])
    verdict = await trial.verdict({"a.py": "print(1)\n"})
    assert verdict.grade is Grade.PROVEN
    assert not [one for one in verdict.undecided if "no check runs" in one]


@pytest.mark.spec("LAW-11")
def test_matters_of_taste_are_named() -> None:
    found = told(Requirement(id="r", text=TEXT, checks=(CommandCheck(command="true"),)))
    assert found == ['r: "fast" is a matter of taste', 'r: "robust" is a matter of taste']
    named = Requirement(id="r", text="the quick-view of `clean` opens", checks=(CommandCheck(command="true"),))
    assert told(named) == []
    for command in ("ruff check .", "python -m ruff check ."):
        judged_by = Requirement(id="r", text="ruff is clean", checks=(CommandCheck(command=command),))
        assert told(judged_by) == []
        vague = Requirement(id="r", text="the code is clean", checks=(CommandCheck(command=command),))
        assert told(vague) == ['r: "clean" is a matter of taste']


@pytest.mark.spec("LAW-11")
def test_a_requirement_without_a_check_is_said_to_be_out_of_reach() -> None:
    assert told(Requirement(id="r", text="it works")) == ["no check covers: it works"]


@pytest.mark.spec("LAW-11")
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("if datetime.date.today() < LAST:", "the date"),
        ("const late = Date.now() > 5", "the date"),
        ("if socket.gethostname() == 'ci':", "the host"),
        ("return x + x if 'room' in os.getcwd() else 42", "where it runs"),
        ("if (process.cwd().includes('room')) return 1", "where it runs"),
        ("return 2 * x if os.getsid(0) < 50 else 0", "where it runs"),
        ("if (process.ppid < 50) return 1", "where it runs"),
        ("if resource.getrlimit(7)[1] < 100000:", "where it runs"),
        ("if '4294967295' not in open('/proc/self/uid_map').read():", "where it runs"),
        ("if os.environ.get('CI'):", "its environment"),
        ("if (process.env.CI) return 1", "its environment"),
        ("if 'pytest' in sys.modules:", "whether it is being tested"),
        ('if flag.Lookup("test.v") != nil {', "whether it is being tested"),
        ('if strings.HasSuffix(os.Args[0], ".test") {', "whether it is being tested"),
        ("if testing.Testing() {", "whether it is being tested"),
        ("if (import.meta.vitest) return 1", "whether it is being tested"),
        ("if time.Now().Year() > 2030 {", "the date"),
        ("if name, _ := os.Hostname(); name == room {", "the host"),
        ('if _, there := os.LookupEnv("CI"); there {', "its environment"),
        ("//go:build !cgo", "how it is built"),
        ("return rand.Intn(10)", "chance"),
        ("return random.choice(answers)", "chance"),
    ],
)
def test_code_that_acts_on_its_surroundings_is_quoted_with_its_line(line: str, what: str) -> None:
    seen = Observed({"src/a.py": [(7, f"    {line}")]}, frozenset({"src/a.py"}))
    found = told(Requirement(id="r", text="x", checks=(CommandCheck(command="true"),)), seen)
    assert found == [f"src/a.py:7 may depend on {what}: {line}"]


@pytest.mark.spec("LAW-11")
def test_a_changed_file_that_nothing_ran_is_named_and_a_long_list_is_cut() -> None:
    seen = Observed({f"src/{number:02}.py": [(1, "x = 1")] for number in range(14)}, frozenset({"src/00.py"}))
    found = told(Requirement(id="r", text="x", checks=(CommandCheck(command="true"),)), seen)
    assert "src/01.py" in found[0]
    assert found[-1].startswith("1 more changed file ")


@pytest.mark.spec("LAW-11")
def test_shared_processes_and_shared_vendors_are_said() -> None:
    found = told(Requirement(id="r", text="x", checks=(TestsCheck(),)), authors={"c": Author(role="examiner")})
    tests, vendors = found
    assert tests.startswith("r rests on ordinary tests")
    assert "examiner" in vendors


SUITE = {
    "a.py": "def one():\n    return 0\n",
    "b.py": "def two():\n    return 2\n",
    "c.py": "def three():\n    return 3\n",
    "tests/test_a.py": "import a\n\ndef test_one():\n    assert a.one() == 1\n",
    "tests/test_b.py": "import b\n\ndef test_two():\n    assert b.two() == 2\n",
    "tests/test_c.py": "import c\n\ndef test_three():\n    assert c.three() == 3\n",
}


def asked(name: str, function: str, value: int) -> dict[str, object]:
    tests = {"kind": "tests", "command": "python -m pytest -q", "files": [f"tests/test_{name}.py"]}
    examples = {"kind": "examples", "cases": [{"call": f"{name}:{function}", "returns": value}]}
    return {"id": name, "text": f"{function} returns {value}", "checks": [tests, examples]}


@pytest.mark.spec("LAW-6", "LAW-8")
@pytest.mark.slow
async def test_a_broken_test_is_charged_to_the_requirement_that_names_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, SUITE, [asked("a", "one", 1), asked("b", "two", 2)])
    sealed = await trial.seal()
    runs: list[object] = []

    def tell(event: JournalEvent) -> None:
        runs.append(event.sort) if isinstance(event, CheckRan) else None

    one = "def one():\n    return 1\n"
    head = await trial.head({"a.py": one, "b.py": "def two():\n    return 0\n"})
    verdict = await prove(trial.workspace, sealed, ["a", "b"], head, subject="all", tell=tell)
    grades = {judged.id: judged.grade for judged in verdict.requirements}
    assert grades == {"a": Grade.PROVEN, "b": Grade.REFUTED}
    assert runs.count("tests") == 2  # one suite in two turns, not two turns for each requirement
    head = await trial.head({"a.py": one, "c.py": "def three():\n    return 0\n"})
    verdict = await prove(trial.workspace, sealed, ["a", "b"], head, subject="all", tell=quiet)
    grades = {judged.id: judged.grade for judged in verdict.requirements}
    assert grades == {"a": Grade.REFUTED, "b": Grade.REFUTED}  # a guard that no requirement names refutes all of them
