"""`trued requirements`: a scaffold from the user's words and the repository, and export of approved cases."""

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Trued, World, git
from tests.cli.test_command_line import one_sentence
from trued.inputs.project.entry_points import entry_points
from trued.inputs.requirements.file import load_requirements, parse_requirements
from trued.model import ExamplesCheck, TestsCheck
from trued.support.processes import MARKER

EXAMINER = """

def examiner(order, folder):
    def case(function, argument, result, quotes, requirement):
        one = {"call": f"tiny:{function}", "args": [argument], "returns": result, "quotes": quotes}
        return {"requirement": requirement, "cases": [one]}
    twice, thrice = "`double(x)` returns twice its argument", "`triple(x)` returns three times its argument"
    cases = [case("double", 21, 42, twice, "1A"), case("double", 5, 10, twice, "1A")]
    cases += [case("triple", 2, 6, thrice, "1B"), case("triple", 5, 15, thrice, "1B")]
    return {"interface": ["tiny:double(x)", "tiny:triple(x)"], "cases": cases}
"""


@pytest.mark.spec("DAY-11", "USE-7")
def test_a_scaffold_has_the_words_and_what_the_repository_offers_and_can_be_read_at_once(world: World) -> None:
    (world.repository / "tests").mkdir()
    (world.repository / "tests" / "test_app.py").write_text("def test_it():\n    assert True\n")
    (world.repository / "app.py").write_text(
        "from flask import Flask\n\napp = Flask(__name__)\n\n\n"
        "@app.route('/books', methods=['POST'])\ndef add():\n    return {}\n\n\n"
        "def total(cart, voucher=None):\n    return 0\n\n\ndef _hidden():\n    pass\n"
    )
    git(world.repository, "add", ".")
    git(world.repository, "commit", "-q", "-m", "app")
    made = world.trued("requirements", "new", "PLAN.md", "-o", str(world.top / "mine.yaml"))
    assert made.returncode == 0, made.stderr
    file = world.top / "mine.yaml"
    assert file.stat().st_mode & 0o077 == 0
    assert [one.id for one in load_requirements(file).requirements] == ["1A", "1B"]
    text = file.read_text()
    for part in ('call: "app:total", args: ["<cart>", "<voucher>"]', 'method: POST, path: "/books"', "pytest"):
        assert part in text
    assert "_hidden" not in text
    again = world.trued("requirements", "new", "-o", str(file))
    assert "exists already" in one_sentence(again)
    for place, inside in (("../beside.yaml", False), ("within.yaml", True)):
        made = world.trued("requirements", "new", "-o", place)
        assert ("is inside the repository" in made.stderr) is inside, made.stderr
    data = world.data("requirements", "new", "The shop opens at nine.")
    assert [one["text"] for one in data["requirements"]] == ["The shop opens at nine."]
    assert "POST /books" in data["entry_points"]


def test_a_scaffold_for_several_projects_names_what_a_check_would_find(tmp_path: Path, trued: Trued) -> None:
    files = {
        "backend/pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\ndependencies = ['pytest']\n",
        "backend/src/shop/prices.py": "def total(cart):\n    return 0\n",
        "backend/tests/test_prices.py": "def test_it():\n    assert True\n",
        "frontend/package.json": '{"name": "web", "scripts": {"test": "node --test", "start": "node server.js"}}',
        "frontend/src/sum.js": "export function sum(a, b) { return a + b }\n",
    }
    repository = a_repository(tmp_path / "two", files)
    text = trued("requirements", "new", "It is so", cwd=repository).stdout
    assert "shop.prices:total" in text
    assert "frontend/src/sum.js:sum" in text
    assert "environment:" not in text
    numbers = itertools.count()
    filled = re.sub(
        r'"?<[^>]*>"?',
        lambda _: f'"{next(numbers)}"',
        re.sub(r"^( *)# (?=- |  | *serve:)", r"\1", text, flags=re.MULTILINE),
    )
    read = parse_requirements(re.sub(r"^ *covers:.*\n", "", filled, flags=re.MULTILINE), "mine.yaml")
    assert read.serve is not None
    commands = [check.command for check in read.requirements[0].checks if isinstance(check, TestsCheck)]
    assert len(commands) == 2
    assert all(command.startswith(("cd backend && ", "cd frontend && ")) for command in commands)


def test_a_scaffold_says_how_to_name_a_module_that_two_projects_have(tmp_path: Path, trued: Trued) -> None:
    project = "[project]\nname = 'x'\nversion = '1'\n"
    files = {f"{folder}/pyproject.toml": project for folder in ("api", "worker")}
    files |= {f"{folder}/tasks.py": "def run(job):\n    pass\n" for folder in ("api", "worker")}
    text = trued("requirements", "new", "It is so", cwd=a_repository(tmp_path / "same", files)).stdout
    assert '"tasks:run"' in text
    assert '# environment: {path: ["api", "worker"]}' in text


def a_repository(top: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "all")
    return top


def test_entry_points_are_found_in_python_and_node_and_not_in_tests() -> None:
    texts = {
        "src/shop/cart.py": "def add(item):\n    pass\n",
        "src/shop/broken.py": "def (",
        "tests/test_cart.py": "def helper(x):\n    pass\n",
        "lib/cart.js": "export function total(items, rate = 1) {}\nrouter.get('/cart/:id', show)\n",
    }
    assert entry_points(texts) == ["GET /cart/:id", "lib/cart.js:total(items, rate)", "shop.cart:add(item)"]


@pytest.mark.slow
@pytest.mark.spec("DAY-11", "LAW-7")
def test_only_cases_that_a_person_approved_become_the_users_own(world: World) -> None:
    script = world.top / "agents.py"
    script.write_text(Path(__file__).with_name("agents_for_cli.py").read_text() + EXAMINER)
    plan = world.repository / "PLAN.md"
    plan.write_text(f"{plan.read_text()}\n**Constraints:**\n\n- No new dependencies\n")
    done = world.trued("run", "PLAN.md", "--agent", f"scripted:{script}", "--yes")
    assert done.returncode == 3, done.stderr
    file, name = world.top / "own.yaml", world.data("ls")[0]["id"]
    refused = world.trued("requirements", "export", name, "-o", str(file))
    # an exported file must not turn examined cases into proven ones
    assert "no case that a person wrote or approved" in one_sentence(refused)
    assert not file.exists()
    given = ("--as", "Bea", "--reason", "I read them")
    assert world.trued("approve", name, *given).returncode == 0
    inside = world.trued("requirements", "export", name, **{MARKER: "r/x@1"})
    assert "is refused inside an agent" in one_sentence(inside)
    assert world.trued("requirements", "export", name, "-o", str(file)).returncode == 0
    exported = load_requirements(file)
    assert [one.id for one in exported.requirements] == ["1A", "1B"]
    assert all(isinstance(check, ExamplesCheck) for one in exported.requirements for check in one.checks)
    work = ("--base", "HEAD", "--head", f"trued/{name}", "--requirements", str(file))
    verified = world.trued("verify", *work, "--json")
    assert (verified.returncode, json.loads(verified.stdout)["grade"]) == (0, "proven"), verified.stderr
    parse_requirements(world.data("requirements", "export", name)["text"], "x.yaml")


SENTENCE = "`tiny.double(x)` returns twice its argument, exactly for big whole numbers"

SENTENCE_EXAMINER = """

def examiner(order, folder):
    quotes = "`tiny.double(x)` returns twice its argument"
    def case(argument, result):
        return {"requirement": "goal", "cases": [
            {"call": "tiny:double", "args": [argument], "returns": result, "quotes": quotes}]}
    return {"interface": ["tiny:double(x)"], "cases": [case(21, 42), case(5, 10)]}
"""


def _script(world: World, more: str = "") -> str:
    script = world.top / "agents.py"
    script.write_text(Path(__file__).with_name("agents_for_cli.py").read_text() + more)
    return f"scripted:{script}"


@pytest.mark.slow
@pytest.mark.spec("DAY-11", "LAW-12")
def test_the_scaffold_of_a_sentence_proves_that_sentence_once_it_has_cases(world: World) -> None:
    file = world.top / "mine.yaml"
    assert world.trued("requirements", "new", SENTENCE, "-o", str(file)).returncode == 0
    head, _, _ = file.read_text().partition("    checks:")
    cases = ", ".join(f'{{call: "tiny:double", args: [{n}], returns: {2 * n}}}' for n in (21, 5))
    file.write_text(f"{head}    checks:\n      - {{kind: examples, cases: [{cases}]}}\n")
    done = world.trued("run", SENTENCE, "--requirements", str(file), "--agent", _script(world), "--yes")
    rows = world.data("ledger", world.data("ls")[0]["id"])["requirements"]
    assert (done.returncode, [(one["id"], one["grade"]) for one in rows]) == (0, [("goal", "proven")]), done.stderr


@pytest.mark.slow
@pytest.mark.spec("DAY-11", "LAW-12", "LAW-1")
def test_exported_cases_serve_the_same_sentence_and_the_part_without_a_case_is_still_a_persons(world: World) -> None:
    agent, file = _script(world, SENTENCE_EXAMINER), world.top / "own.yaml"
    assert world.trued("run", SENTENCE, "--agent", agent, "--yes").returncode == 3
    name = world.data("ls")[0]["id"]
    assert world.trued("approve", name, "--as", "Bea", "--reason", "I read them").returncode == 0
    assert world.trued("requirements", "export", name, "-o", str(file)).returncode == 0
    assert [(one.id, [each.kind for each in one.checks]) for one in load_requirements(file).requirements] == [
        ("goal", ["examples"]),
        ("goal-rest", ["manual"]),
    ]
    done = world.trued("run", SENTENCE, "--requirements", str(file), "--agent", _script(world), "--yes")
    rows = world.data("ledger", world.data("ls")[0]["id"])["requirements"]
    grades = {one["id"]: one["grade"] for one in rows}
    assert (done.returncode, grades) == (3, {"goal": "proven", "goal-rest": "unproven"}), done.stderr


WRITERS = """
def initializer(order, folder):
    files = {"id": "files", "description": "`golden.txt` is the product", "steps": ["The file is there"]}
    new = {"id": "new", "description": "`python -m pytest tests/test_new.py` passes", "steps": []}
    return {"features": [{**files, "verification_method": "manual"}, new], "test": "pytest -q"}


def examiner(order, folder):
    return {"interface": ["tiny:other(x)"], "cases": []}


def coder(order, folder):
    raise RuntimeError("the contract is enough")
"""


@pytest.mark.slow
@pytest.mark.spec("DAY-11", "LAW-7", "LAW-12")
def test_agents_requirements_and_entry_points_become_the_users_own_only_with_an_approval(world: World) -> None:
    script, own, specification = (world.top / name for name in ("agents.py", "mine.yaml", "SPEC.md"))
    script.write_text(WRITERS)
    double = "`tiny.double(x)` returns twice its argument"
    specification.write_text(f"# Numbers\n\n{double}. `tiny.triple(x)` returns three times its argument.\n")
    cases = ", ".join(f'{{call: "tiny:double", args: [{n}], returns: {2 * n}}}' for n in (21, 5))
    own.write_text(
        f'requirements:\n  - {{id: mine, text: "{double}", checks: [{{kind: examples, cases: [{cases}]}}]}}\n'
    )
    given = ("--requirements", str(own), "--agent", f"scripted:{script}", "--yes")
    assert world.trued("run", str(specification), "-w", "handoff", *given).returncode == 5
    name = world.data("ls")[0]["id"]
    assert world.trued("cancel", name).returncode == 0
    exported = parse_requirements(world.data("requirements", "export", name)["text"], "x.yaml")
    assert ([one.id for one in exported.requirements], exported.interface) == (["mine"], ())
    assert world.trued("approve", name, "--as", "Bea", "--reason", "I read them").returncode in (0, 130)
    exported = parse_requirements(world.data("requirements", "export", name)["text"], "x.yaml")
    assert {one.id for one in exported.requirements} == {"mine", "files", "new"}
    assert exported.interface == ("tiny:other(x)",)
