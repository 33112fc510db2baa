"""No check leaves a process, a file or a mount behind: the tests search the whole machine afterwards."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Outcomes
from trued.wire import Confinement
from trued.workspace.sandbox import cgroup
from trued.workspace.sandbox.levels import level_state

# Forks twice, starts a session of its own and leaves every folder, as a daemon does to stay alive.
HEAD = """
import os, subprocess, sys, tempfile

MARK = "{mark}"


def leave():
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", os.path.expanduser("~"), "{home}", tempfile.gettempdir()):
        try:
            open(os.path.join(place, MARK), "w").close()
        except OSError:
            pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            for number in (0, 1, 2):
                os.close(number)
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", MARK])
        os._exit(0)
    subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"], stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "--bind", "/etc", "/tmp"], stderr=subprocess.DEVNULL)


def f(x):
    leave()
    return 2 * x


if __name__ == "__main__":
    print(f(2))
"""
TESTS = "from m import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
CHECKS = [
    {"kind": "tests", "files": ["tests/test_m.py"]},
    {
        "kind": "examples",
        "cases": [{"call": "m:f", "args": [3], "returns": 6}, {"run": ["python", "m.py"], "stdout": "4\n"}],
    },
]


def processes(mark: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if mark in line]


def looked_for(mark: str, *more: Path) -> list[Path]:
    places = [Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), Path("/run"), Path.home(), *more]
    return [place / mark for place in places if (place / mark).exists()]


def mounts() -> set[str]:
    return {line.split(" - ")[0].split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


@pytest.mark.slow
@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize("level", ["bubblewrap", pytest.param("landlock", marks=pytest.mark.slow)])
async def test_no_check_leaves_a_process_a_file_or_a_mount(tmp_path: Path, level: str) -> None:
    if not level_state(level).works:
        pytest.skip(f"{level}: {level_state(level).why}")
    mark = f"trued-left-{os.getpid()}-{level}"
    home = tmp_path / "home of the user"
    home.mkdir()
    asked = [{"id": "r", "text": "f doubles", "checks": CHECKS}]
    trial = Trial(tmp_path / "t", {"m.py": "def f(x):\n    return x\n", "tests/test_m.py": TESTS}, asked)
    trial.workspace._agents = Confinement(level=level)
    before = mounts()
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head({"m.py": HEAD.format(mark=mark, home=home)}))
    assert {one.isolation.split(" ")[0] for one in verdict.evidence} == {level}
    assert {one.outcome for fact in verdict.evidence for one in fact.tried} == {Outcomes.PASSED}  # so all checks ran
    for _ in range(600):
        if not processes(mark):
            break
        time.sleep(0.1)  # noqa: ASYNC251
    assert processes(mark) == []
    assert looked_for(mark, home) == []
    assert mounts() == before
    assert not list((trial.workspace.folder / "rooms").iterdir())
    place = cgroup.cgroup_parent()
    assert place is None or not list(place.folder.glob(f"{cgroup.PREFIX}{os.getpid()}-*"))
