"""What `trued init` wrote a second ago is trusted, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Trued
from tests.cli.test_command_line import AGENT, one_sentence


def trust(trued: Trued, project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(trued("trust", "--json", cwd=project).stdout)
    return found


@pytest.mark.spec("DAY-14", "USE-6")
def test_only_the_written_bytes_are_trusted(trued: Trued, project: Path) -> None:
    assert trued("init", cwd=project).returncode == 0
    assert trust(trued, project)["trusted"]
    settings = project / "trued.toml"
    written = settings.read_bytes()
    settings.write_bytes(written + b"rounds = 9\n")  # somebody has changed it
    assert not trust(trued, project)["trusted"]
    assert "not trusted yet" in one_sentence(trued("run", "say hello", *AGENT, cwd=project))
    settings.write_bytes(written)
    # the run began, and asks a person because nobody writes cases
    assert trued("run", "say hello", *AGENT, cwd=project).returncode == 3
    # trusting trued.toml does not trust role files
    (project / ".trued" / "roles").mkdir(parents=True)
    (project / ".trued" / "roles" / "solo.md").write_text("---\nname: solo\n---\n\nDo what I say.\n")
    said = one_sentence(trued("run", "say hello", *AGENT, cwd=project))
    assert "solo.md" in said
    assert "trued.toml" not in said


@pytest.mark.spec("USE-6")
def test_an_agent_cannot_trust_by_writing(trued: Trued, project: Path) -> None:
    done = trued("init", cwd=project, variables={"CLAUDECODE": "1"})
    assert "`trued trust`" in done.stderr
    assert not trust(trued, project)["trusted"]
