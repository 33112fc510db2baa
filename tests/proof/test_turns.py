"""Two parallel turns give the same results as two turns in sequence, or they are run again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Evidence, Grade, Verdict
from trued.proof.base_runs import BESIDE_THE_SECOND
from trued.proof.turns import BESIDE, STEADY_TURNS
from trued.proof.verdict.case_status import Base, on_base
from trued.workspace.sandbox.levels import level_state

pytestmark = pytest.mark.skipif(not level_state("bubblewrap").works, reason="only bubblewrap keeps two turns apart")

BASE = {
    "calc.py": "def double(number):\n    return number\n\n\ndef half(number):\n    return number // 2\n",
    "tests/test_old.py": "import calc\n\n\ndef test_half():\n    assert calc.half(8) == 4\n",
    "tests/test_calc.py": "import calc\n\n\ndef test_double():\n    assert calc.double(7) == 14\n",
}
GOOD = "def double(number):\n    {first}\n    return 2 * number\n\n\ndef half(number):\n    return number // 2\n"
CHECKS = [
    {"kind": "tests", "command": "python -m pytest -q"},
    {"kind": "examples", "cases": [{"call": "calc:double", "args": [at], "returns": 2 * at} for at in (3, 4)]},
]
# Locks a file of the machine that every sandbox shows: the lock fails if another turn runs at the same time.
LOCK = (
    "import fcntl, os, time\n    if 'PYTEST_CURRENT_TEST' in os.environ: own = open(os.__file__); "
    "fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB); time.sleep(1.2)"
)


async def verdict(place: Path, first: str = "pass", *, idle: Callable[[], int] = lambda: 8) -> Verdict:
    trial = Trial(place, BASE, [{"id": "r", "text": "double doubles", "checks": CHECKS}])
    trial.workspace.idle_cores = idle
    return await trial.verdict({"calc.py": GOOD.format(first=first)})


def turns(found: Verdict, kind: str = "tests") -> list[Evidence]:
    return [one for one in found.evidence if one.side == "head" and one.kind == kind]


@pytest.mark.spec("LAW-6")
async def test_two_turns_at_once_count_where_the_first_left_nothing(tmp_path: Path) -> None:
    found = await verdict(tmp_path)
    assert found.requirements[0].grade is Grade.PROVEN, found.requirements[0].why
    for kind in ("tests", "examples"):
        first, second = turns(found, kind)
        assert (first.turn, second.turn, BESIDE in first.setting) == (1, 2, False)
        assert second.setting.startswith("another order")
        assert second.setting.endswith(BESIDE)
    assert all(one.tainted for one in found.evidence if one.turn == 2 and one.side == "head")


@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_turns_follow_each_other_where_no_core_is_idle(tmp_path: Path) -> None:
    found = await verdict(tmp_path, idle=lambda: 1)
    assert found.requirements[0].grade is Grade.PROVEN
    assert [BESIDE in one.setting for one in turns(found)] == [False, False]


@pytest.mark.spec("LAW-6")
async def test_a_core_that_is_busy_for_a_moment_costs_no_whole_turn(tmp_path: Path) -> None:
    """The longer the checks took on the base, the longer the engine waits for idle cores, but never for long."""
    workspace = Trial(tmp_path, BASE, []).workspace
    looks = iter([1, 1, 1, 2])
    workspace.idle_cores = lambda: next(looks, 0)
    assert await workspace.can_run_side_by_side(saving_s=600.0)
    assert not await workspace.can_run_side_by_side()
    assert not await workspace.can_run_side_by_side(saving_s=1.0)


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(
    "first",
    [
        "import pathlib; pathlib.Path(__file__).with_name('cache').mkdir()",
        "import pathlib; here = pathlib.Path(__file__).with_name('done'); assert not here.exists(); here.touch()",
        # content and modification time stay the same: only the change time shows the write
        "import os, pathlib; me = pathlib.Path(__file__); assert not me.stat().st_mtime == 9; os.utime(me, (9, 9))",
    ],
    ids=["folder", "file", "time"],
)
@pytest.mark.many(1)
async def test_a_head_that_fails_on_what_its_first_turn_left_is_refuted(tmp_path: Path, first: str) -> None:
    once = f"import os\n    if 'PYTEST_CURRENT_TEST' in os.environ: {first}"
    found = await verdict(tmp_path, once)
    assert found.requirements[0].grade is Grade.REFUTED, found.requirements[0].why
    assert [(one.turn, BESIDE in one.setting) for one in turns(found)] == [(1, False), (2, False)]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_head_that_fails_always_is_refuted_by_a_turn_of_its_own(tmp_path: Path) -> None:
    found = await verdict(tmp_path, "return 0")
    assert found.requirements[0].grade is Grade.REFUTED
    assert [(one.turn, BESIDE in one.setting) for one in turns(found)] == [(1, False), (2, True)]


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_head_that_collides_with_itself_only_is_not_refuted_for_it(tmp_path: Path) -> None:
    found = await verdict(tmp_path, LOCK)
    assert found.requirements[0].grade is Grade.PROVEN, found.requirements[0].why
    if len(turns(found)) > 2:  # the turns met, which happens only if both run at the same instant
        assert [one.turn for one in turns(found)] == list(range(1, STEADY_TURNS + 1))
        assert any(f"passed {STEADY_TURNS} times in sequence" in one for one in found.undecided)


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_head_that_failed_beside_itself_has_no_second_throw_of_the_dice(tmp_path: Path) -> None:
    """The head fails in one turn of three: after a failure, two turns in sequence would have let it pass."""
    thrice = (
        f"{LOCK}; import pathlib; here = pathlib.Path(__file__).parent; "
        "names = [one for one in os.listdir(here) if one.startswith('turn')]; assert len(names) != 2; "
        "(here / f'turn{len(names)}').touch()"
    )
    found = await verdict(tmp_path, thrice)
    if len(turns(found)) > 2:
        assert found.requirements[0].grade is Grade.REFUTED, found.requirements[0].why


COUNTED = """import pathlib


def third():
    runs = [one for one in pathlib.Path(__file__).parent.iterdir() if one.name.startswith("run")]
    (pathlib.Path(__file__).parent / f"run{len(runs)}").touch()
    return len(runs) > 1
"""


# A copied file has a newer change time than modification time: so code can tell that it runs in the second room.
KNOWING = """import os


def beside():
    found = os.stat(__file__)
    return found.st_ctime_ns > found.st_mtime_ns


def raises_beside():
    assert not beside()
    return False
"""


async def on_the_base(place: Path, call: str, *, idle: int) -> tuple[Base, list[str]]:
    """The status on the base of a case that calls `call`, and the setting of each of its runs."""
    check = {"kind": "examples", "cases": [{"call": call, "args": [], "returns": True}]}
    base = {"counting.py": COUNTED, "knowing.py": KNOWING, "calc.py": "def never():\n    return False\n"}
    trial = Trial(place, base, [{"id": "r", "text": "it is true", "checks": [check]}])
    trial.workspace.idle_cores = lambda: idle
    facts = (await trial.seal()).base_facts
    return on_base(facts)["case 1"], [one.setting for one in facts]


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(("idle", "last"), [(8, BESIDE_THE_SECOND), (1, "")])
async def test_red_is_taken_a_second_and_third_time_at_once_where_cores_are_idle(
    tmp_path: Path, idle: int, last: str
) -> None:
    assert await on_the_base(tmp_path, "calc:never", idle=idle) == (Base.RED, ["", "", last])


@pytest.mark.spec("LAW-6")
async def test_what_passes_on_what_two_runs_left_is_not_red(tmp_path: Path) -> None:
    """Two parallel runs both meet only the files of the first run. Files were written, so one more run is made."""
    assert await on_the_base(tmp_path, "counting:third", idle=8) == (Base.UNSTABLE, ["", "", BESIDE_THE_SECOND, ""])


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(("call", "stands"), [("knowing:beside", Base.UNSTABLE), ("knowing:raises_beside", Base.RED)])
async def test_what_goes_otherwise_beside_another_run_is_tried_alone_again(
    tmp_path: Path, call: str, stands: Base
) -> None:
    """A case that passed once is never red. One that fails otherwise in parallel is red after three runs alone."""
    stood, runs = await on_the_base(tmp_path, call, idle=8)
    assert stood is stands
    assert runs == ["", "", BESIDE_THE_SECOND, "", ""]


# Under pytest the code leaves a file beside itself.
SIGN = (
    "import os, pathlib\n    sign = pathlib.Path(__file__).with_name('sign.txt')\n"
    "    if 'PYTEST_CURRENT_TEST' in os.environ: sign.write_text('tested')"
)


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("idle", [1, 8])
async def test_code_that_is_right_only_after_a_test_left_it_a_sign_is_refuted(tmp_path: Path, idle: int) -> None:
    found = await verdict(tmp_path, f"{SIGN}\n    if not sign.exists(): return None", idle=lambda: idle)
    assert found.requirements[0].grade is Grade.REFUTED, found.requirements[0].why


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("idle", [1, 8])
async def test_tests_that_leave_a_file_cost_honest_code_nothing(tmp_path: Path, idle: int) -> None:
    found = await verdict(tmp_path, SIGN, idle=lambda: idle)
    assert found.requirements[0].grade is Grade.PROVEN, found.requirements[0].why


# What tests can leave besides files: (what the code does, what holds only afterwards).
TRACES = {
    "time of a folder": ("os.utime(HERE / 'tests', (9, 9))", "os.stat(HERE / 'tests').st_mtime == 9"),
    "mode of a test": ("os.chmod(HERE / 'tests/test_old.py', 0o755)", "os.access(HERE / 'tests/test_old.py', os.X_OK)"),
    "mode of the checkout": ("os.chmod(HERE, 0o711)", "os.stat(HERE).st_mode & 0o777 == 0o711"),
    "object of git": (
        "[os.utime(one, (9, 9)) for one in HERE.glob('.git/objects/pack/*')]",
        "not (HERE / '.git').exists() or any(one.stat().st_mtime == 9 for one in HERE.glob('.git/objects/pack/*'))",
    ),
    "file": ("(HERE / 'sign.txt').touch()", "(HERE / 'sign.txt').exists()"),
}
PLACE = "import os, pathlib\n    HERE = pathlib.Path(__file__).parent"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("trace", ["time of a folder", "mode of a test"])
async def test_code_that_is_right_only_after_a_test_left_a_trace_that_is_no_file_is_refuted(
    tmp_path: Path, trace: str
) -> None:
    leave, left = TRACES[trace]
    leave = f"{PLACE}\n    if 'PYTEST_CURRENT_TEST' in os.environ: {leave}"
    found = await verdict(tmp_path, f"{leave}\n    if not ({left}): return None")
    assert found.requirements[0].grade is Grade.REFUTED, found.requirements[0].why


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_tests_that_leave_a_trace_that_is_no_file_cost_honest_code_nothing(tmp_path: Path) -> None:
    found = await verdict(tmp_path, f"{PLACE}\n    {TRACES['time of a folder'][0]}")
    assert found.requirements[0].grade is Grade.PROVEN, found.requirements[0].why


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.many(2)
async def test_code_that_is_right_only_after_another_requirements_case_is_refuted(tmp_path: Path, trace: str) -> None:
    """The tests call the same code, so both requirements' cases run in rooms of their own."""
    leave, left = TRACES[trace]
    cases = [{"call": "calc:half", "args": [at], "returns": at / 2} for at in (3, 5)]
    half = {"id": "s", "text": "half halves", "checks": [{"kind": "examples", "cases": cases}]}
    trial = Trial(tmp_path, BASE, [{"id": "r", "text": "double doubles", "checks": CHECKS}, half])
    trial.workspace.idle_cores = lambda: 1
    head = f"import os, pathlib\nHERE = pathlib.Path(__file__).parent\n{GOOD.format(first=leave)}"
    liar = head.replace("return number // 2", f"return number / 2 if number == 8 or ({left}) else None")
    contract = await trial.seal()
    for text, wanted in ((liar, Grade.REFUTED), (head.replace("number // 2", "number / 2"), Grade.PROVEN)):
        found = await trial.prove(contract, await trial.head({"calc.py": text}))
        assert [one.grade for one in found.requirements] == [Grade.PROVEN, wanted], found.requirements


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize(("idle", "beside"), [(8, True), (1, False)], ids=["idle", "busy"])
async def test_cases_run_beside_the_tests_of_the_base_where_cores_are_idle(
    idle: int, beside: bool, tmp_path: Path
) -> None:
    leaves = "import pathlib\nimport time\n\nimport calc\n\n\ndef test_half():\n    time.sleep(1)\n"
    leaves += "    pathlib.Path('left').touch()\n    assert calc.half(8) == 4\n"
    case = {"run": ["python", "-c", "import os; print(os.path.exists('left'))"], "stdout": "False\n"}
    checks = [CHECKS[0], {"kind": "examples", "cases": [case]}]
    base = {"calc.py": BASE["calc.py"], "tests/test_old.py": leaves}
    trial = Trial(tmp_path, base, [{"id": "r", "text": "it", "checks": checks}])
    trial.workspace.idle_cores = lambda: idle
    contract = await trial.seal()
    tests, cases = ([one for one in contract.base_facts if one.kind == kind] for kind in ("tests", "examples"))
    overlap = tests[0].began < cases[0].began + cases[0].seconds and cases[0].began < tests[0].began + tests[0].seconds
    assert overlap is beside
    assert on_base(cases)["case 1"] is Base.GUARD  # no test has run in its room
