"""A real language model, too small for the work, plays every role of every workflow on a one-line goal.

Whatever it writes: no traceback, no hang, no belief without evidence, nothing left behind. The figures that it brings
about are printed: `make test-model ARGS=-s`.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gangs.trial import Ended, Place, Trial
from tests.processes_left import marked
from tests.small_model.server import PLACE, model_server

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

WORKFLOWS = ("solo", "purple", "ticket", "handoff", "pipeline", "team")
GOAL = "`add(a, b)` in add.py returns the sum of its two arguments."
CASES = [{"call": "add:add", "args": [a, b], "returns": a + b} for a, b in ((2, 3), (-7, 7), (1000, 24))]
ASKED = [{"id": "adds", "text": GOAL, "covers": ["goal"], "checks": [{"kind": "examples", "cases": CASES}]}]
TESTS = Path(__file__).parents[1]
# Of the runs themselves: they have to end by that, well before the trial's own time is over. With tools, the model may
# write until its context is full, without an answer.
LIMITS = {"shaped": "time=4m", "raw": "time=2m", "tools": "time=90s"}
ENDS = (0, 1, 3, 4, 5)  # met, refuted, waits for a person, a limit, an agent that gave nothing
ADDS = "import sys; sys.path.insert(0, '.'); from add import add; assert add(41, 1) == 42 and add(-3, 1) == -2"


def trial_of(way: str, workflow: str) -> Trial:
    """A project with nothing in it. What the model calls its features, nobody knows before."""
    covered = {"purple": ("1A",)}
    return Trial(way, workflow, [GOAL], {"README.md": "# Sums\n"}, requirements=ASKED, covered=covered)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert (PLACE / ".stamp").is_file(), "the model is not installed: make test-model, or tools/model.sh"
    with model_server(tmp_path_factory.mktemp("model") / "log") as found:
        yield found


@pytest.mark.parametrize("way", ["shaped", "raw"])
@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_its_words_end_in_a_verdict_and_never_in_a_wrong_one(
    workflow: str, way: str, address: str, tmp_path: Path
) -> None:
    gang, player = TESTS / "gangs" / "gang.py", TESTS / "small_model" / "player.py"
    line = (sys.executable, str(player), str(gang), address, way)
    judge(trial_of(way, workflow), f"command:{shlex.join(line)}", tmp_path)


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_with_tools_of_its_own_it_cannot_do_harm(workflow: str, address: str, tmp_path: Path) -> None:
    trial = trial_of("tools", workflow)
    keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": address}
    judge(trial, "coder:openai-chat:smollm2", tmp_path, keys)


def judge(trial: Trial, agent: str, folder: Path, variables: dict[str, str] | None = None) -> Ended:
    """Run it, and hold what it ended with against what is really on its branch."""
    place = Place(folder, trial)
    ended = place.run_with(agent, more=("--limit", "calls=40", "--limit", LIMITS[trial.mode]), variables=variables)
    print(f"{trial.workflow}, {trial.mode}: exit {ended.code}, {ended.record.get('grade') or 'no grade'}")
    assert "Traceback" not in ended.said
    assert ended.code in ENDS, ended.said
    if ended.code == 0:
        branch = ended.record["branch"]
        place.git("worktree", "add", "-q", "--detach", str(folder / "head"), branch)
        subprocess.run([sys.executable, "-c", ADDS], cwd=folder / "head", check=True)
    assert place.git("rev-parse", "HEAD") == place.base
    assert place.git("status", "--porcelain") == ""
    assert not marked(str(ended.record.get("id") or "no run"))
    return ended
