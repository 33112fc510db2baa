"""The keeper ends everything that the engine started, at whatever moment the engine dies."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.test_execution import LEVELS, alive, gone
from trued.workspace.sandbox import keeper
from trued.workspace.sandbox.levels import level_state
from trued.workspace.sandbox.process_start import kill_process

ENGINE = """
import asyncio, sys
from trued.wire import Confinement
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.execution import ConfinedCommand, run_confined

level, folder, marker = sys.argv[1:]
argv, environment = confine(["sleep", marker], Confinement(level=level), folder=folder, variables={"HOME": folder})
launch = ConfinedCommand(argv, environment, folder, b"", 900.0, 1000, reports_exit=level == "bubblewrap", processes=64)
print("starts", flush=True)
asyncio.run(run_confined(launch, channel=True))
"""
MOMENTS = range(0, 120, 20)  # milliseconds: on an idle machine a sandbox starts in about 60


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.many(1)
async def test_an_engine_killed_while_a_check_starts_or_waits_leaves_nothing_of_it(level: str, tmp_path: Path) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    marker = f"{6_000_000 + os.getpid()}.{LEVELS.index(level)}"
    for milliseconds in MOMENTS:
        engine = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ENGINE, level, tmp_path, marker, stdout=asyncio.subprocess.PIPE
        )
        assert engine.stdout
        await engine.stdout.readline()
        await asyncio.sleep(milliseconds / 1000)
        await kill_process(engine)
    assert await gone(marker)


@pytest.mark.spec("RUN-5")
@pytest.mark.parametrize("script", ["scope.py", "landlock.py"])
def test_nothing_is_started_for_a_parent_that_has_died_already(script: str) -> None:
    with subprocess.Popen(["true"]) as dead:
        pass
    words = [sys.executable, "-I", "-S", keeper.__file__, str(Path(keeper.__file__).with_name(script)), "no", "policy"]
    ran = subprocess.run(words, env={"TRUED_PARENT": str(dead.pid)}, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (keeper.FAILED, b"")


@pytest.mark.spec("RUN-5")
async def test_a_process_that_left_its_family_ends_with_the_parent_of_the_keeper(tmp_path: Path) -> None:
    """If bubblewrap dies while it starts, it leaves such a process: with another parent and a session of its own."""
    marker = f"{7_000_000 + os.getpid()}"
    script = tmp_path / "script.py"
    script.write_text(
        "import os, subprocess, sys\n"
        f"subprocess.Popen(['sleep', {marker!r}], start_new_session=True)\n"
        "print('left', flush=True)\n"
        "os.read(0, 1)\n"
    )
    words = [sys.executable, "-I", "-S", keeper.__file__, str(script)]
    start = (
        "import os, subprocess, sys\n"
        "subprocess.Popen(sys.argv[1:], env={'TRUED_PARENT': str(os.getpid())})\n"
        "os.read(0, 1)\n"
    )
    pipe = asyncio.subprocess.PIPE
    engine = await asyncio.create_subprocess_exec(sys.executable, "-c", start, *words, stdin=pipe, stdout=pipe, env={})
    assert engine.stdout
    assert await engine.stdout.readline() == b"left\n"
    assert alive(marker)
    await kill_process(engine)
    assert await gone(marker)
