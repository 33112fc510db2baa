"""`trued lint`: folders, the packaged roles, exit codes, and the pipeline that can be followed by hand."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Trued

pytestmark = pytest.mark.spec("PIPE-13", "USE-2")


def test_a_mistake_in_an_exported_pipeline_is_told_with_file_line_and_rule(trued: Trued, project: Path) -> None:
    done = trued("roles", "export", "orchestrator", "spec", "--to", "github", "--json", cwd=project)
    assert [Path(row["file"]).name for row in json.loads(done.stdout)] == [
        *("spec.agent.md", "orchestrator.agent.md", "dispatch-patterns.md", "feature-workflow.prompt.md"),
    ]
    assert trued("lint", cwd=project).returncode == 0
    spec = project / ".github" / "agents" / "spec.agent.md"
    text = spec.read_text()
    spec.write_text(text.replace("## Outputs", "Also `analysis.md`.\n\n## Outputs"))
    line = text[: text.index("## Outputs")].count("\n") + 1
    done = trued("lint", "--json", ".github", cwd=project)
    assert done.returncode == 2
    assert json.loads(done.stdout) == [
        {
            "where": f".github/agents/spec.agent.md:{line}",
            "file": ".github/agents/spec.agent.md",
            "line": line,
            "rule": "TS-2",
            "says": "analysis.md: nobody writes this combined file",
            "wrong": True,
        }
    ]
    shown = trued("lint", cwd=project)
    assert shown.stdout.startswith(f".github/agents/spec.agent.md:{line}: TS-2 analysis.md")
    assert "4 files, 1 pipeline: 1 wrong" in shown.stderr
    assert trued("lint", "--as", "files", cwd=project).returncode == 0


def test_nothing_is_found_in_the_packaged_roles(trued: Trued, tmp_path: Path) -> None:
    done = trued("lint", "--packaged", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert ", 1 pipeline: 0 wrong, 0 notes" in done.stderr
