"""Which files are linted together as one set, and by which rules."""

import shutil
from pathlib import Path

import pytest

from tests.workflows.pipeline.lint.somebodys import FILES, agent
from trued.agents.roles.places import packaged_files
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.select import Kind, LintResult, lint_sets, named_sets, packaged_sets, repository_sets

pytestmark = pytest.mark.spec("PIPE-13")


def put(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def wrong(look: LintResult) -> list[Violation]:
    return [one for one in look.found if one.wrong]


def test_nothing_is_wrong_with_the_packaged_roles() -> None:
    look = lint_sets(packaged_sets())
    assert (look.found, look.pipelines, look.unjudged, look.files) == ([], 1, 0, len(packaged_files()))


def test_a_folder_is_one_set_wherever_its_files_lie(tmp_path: Path) -> None:
    folder = put(tmp_path / "agents", FILES)
    (folder / "prompts").mkdir()
    shutil.move(folder / "feature-workflow.prompt.md", folder / "prompts")
    prompt = folder / "prompts" / "feature-workflow.prompt.md"
    prompt.write_text(prompt.read_text().replace("an isolated memory file", "nothing"))
    put(folder / "node_modules" / "x", {"y.agent.md": "broken"})
    (found,) = wrong(lint_sets(named_sets([folder])))
    assert (found.where, found.rule) == (f"{prompt}:5", "TS-14.3")


def test_agents_of_other_tools_keep_no_convention_unless_somebody_says_so(tmp_path: Path) -> None:
    plain = {"reviewer.md": "---\nname: reviewer\ndescription: reviews\n---\nLook closely.\n"}
    put(tmp_path / ".claude" / "agents", plain)
    look = lint_sets(repository_sets(tmp_path))
    assert (wrong(look), look.unjudged, look.files) == ([], 1, 1)
    assert {one.rule for one in wrong(lint_sets(repository_sets(tmp_path), Kind.ROLES))} == {"TS-15.2"}
    assert [one.rule for one in lint_sets(repository_sets(tmp_path), Kind.FILES).found] == ["ROLE-2"]


def test_roles_of_ours_keep_it(tmp_path: Path) -> None:
    own = {"mine.md": "---\nname: mine\ndescription: d\ntools: [read]\n---\n# Mine\n\n## Role\n\nWork.\n"}
    put(tmp_path / ".trued" / "roles", own)
    found = lint_sets(repository_sets(tmp_path)).found
    assert {one.rule for one in found} == {"TS-15.2"}
    assert len(found) == 7
    assert lint_sets(named_sets([tmp_path])).found != []
    assert lint_sets(repository_sets(tmp_path), Kind.FILES).found == []


def test_a_repository_with_an_orchestrator_is_a_pipeline_with_its_prompts(tmp_path: Path) -> None:
    files = dict(FILES)
    put(tmp_path / ".github" / "prompts", {"feature-workflow.prompt.md": files.pop("feature-workflow.prompt.md")})
    put(tmp_path / ".github", {"dispatch-patterns.md": files.pop("dispatch-patterns.md")})
    put(tmp_path / ".github" / "agents", files)
    look = lint_sets(repository_sets(tmp_path))
    assert wrong(look) == []
    assert (look.pipelines, look.files) == (1, len(FILES))
    put(tmp_path / ".github", {"dispatch-patterns.md": "# Dispatch\n\n## Pattern A\n\nInvoke the aggregator.\n"})
    rules = [one.rule for one in wrong(lint_sets(repository_sets(tmp_path)))]
    assert sorted(rules) == ["TS-10.1", "TS-10.1", "TS-10.2", "TS-10.3"]


def test_files_that_cannot_be_read_are_findings_and_stop_nobody(tmp_path: Path) -> None:
    folder = put(tmp_path, {"spec.agent.md": agent("spec"), "b.agent.md": "---\nname: b\n"})
    (folder / "a.agent.md").write_bytes(b"---\nname: a\n---\n\xff\n")
    found = wrong(lint_sets(named_sets([folder, folder / "none.md"])))
    assert [(one.where.removeprefix(f"{folder}/"), one.rule) for one in found] == [
        ("a.agent.md:4", "ROLE-1"),
        ("b.agent.md:1", "ROLE-1"),
        ("none.md:1", "ROLE-1"),
    ]


def test_a_file_that_is_too_long_for_any_agent_is_said_and_not_read(tmp_path: Path) -> None:
    put(tmp_path, {"spec.agent.md": "# x\n" * 200_000, "notes.md": "# x\n" * 200_000})
    (found,) = lint_sets(named_sets([tmp_path])).found
    assert (found.where, found.rule) == (f"{tmp_path}/spec.agent.md:1", "ROLE-1")


LONG = {
    "path": "a/" * 40_000 + "x.md",
    "aggregators": "aggregator " * 5_000,
    "brackets": "(" * 80_000,
    "headings": "# (\n" * 5_000,
    "statuses": "`DONE, " * 10_000,
    "memories": "memory/" * 10_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("words", LONG.values(), ids=LONG.keys())
def test_a_long_line_keeps_nobody_waiting(tmp_path: Path, words: str) -> None:
    put(tmp_path, {**FILES, "v-build.agent.md": agent("v-build", role=words, contract=words, anchor=words)})
    assert lint_sets(named_sets([tmp_path])).found


def test_hostile_files_are_judged_in_no_time(tmp_path: Path) -> None:
    deep = "> " * 500 + "x\n" + "- " * 500 + "y\n" + "`" * 5000 + "\n" + "DONE|" * 5000 + "\n" + "a/" * 5000 + ".md\n"
    text = agent("v-build", role=deep, contract="- `DONE" + ", x" * 5000, anchor="memory.md " * 3000)
    put(tmp_path, {**FILES, "v-build.agent.md": text})
    assert lint_sets(named_sets([tmp_path])).found
