"""Text that only looks like a mistake is not reported; a real mistake is found in other words, too."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.workflows.pipeline.lint.somebodys import FILES, REVISES, agent
from trued.workflows.pipeline.lint.findings import Violation
from trued.workflows.pipeline.lint.pages import PromptPage
from trued.workflows.pipeline.lint.rules import apply_rules
from trued.workflows.pipeline.lint.sets import LintSet, page

pytestmark = pytest.mark.spec("PIPE-13")


@cache
def read(name: str, text: str) -> PromptPage:
    return page(Path(name), name, text)


def found_in(files: Mapping[str, str], *, forced: bool = False, plain: bool = False) -> list[Violation]:
    return apply_rules(LintSet(tuple(map(read, files, files.values())), forced=forced, plain=plain))


def told(found: list[Violation]) -> list[tuple[str, int, str]]:
    return [(one.file, one.line, one.rule) for one in found]


def test_a_pipeline_in_other_words_is_as_good() -> None:
    assert found_in(FILES) == []
    assert found_in({name: text.replace("\n", "\r\n") for name, text in FILES.items()}) == []
    assert found_in({name: f"\ufeff{text}" for name, text in FILES.items()}) == []


@pytest.mark.parametrize(
    "words",
    [
        "The verifier reads it; a verifier.mdx would be no file of ours.",
        "`src/review.md`, `code-review.md`, `my_analysis.md` and `.github/prompts/review.md` are the project's.",
        "See https://example.org/feature/analysis.md and [a page](https://example.org/review.md).",
        "It builds an RSS aggregator, or a v2 aggregator of news.",
        "> **Deprecated:** `ct-aggregator` and its `design_critical_review.md` are gone.",
        "Deprecation notice: v-aggregator was removed.",
        "`ct-review/ct-security.md` and `review/r-testing.md` are read as they are.",
        "In chemistry, synthesis is another word.",
    ],
)
def test_words_that_are_no_reference(words: str) -> None:
    assert found_in({**FILES, "v-build.agent.md": agent("v-build", role=words)}) == []


@pytest.mark.parametrize(
    "words",
    [
        "Wait for the\nCT\nAggregator.",
        "Ask `r-aggregator.agent.md`.",
        "```text\nct-aggregator\n```",
        "<!-- v-aggregator -->",
        "There is no v-aggregator any more.",
        "| a |\n| --- |\n| R‑Aggregator |",  # noqa: RUF001 - a hyphen that does not break
    ],
)
def test_a_name_of_an_aggregator_is_found_wherever_it_stands(words: str) -> None:
    (found,) = found_in({**FILES, "v-build.agent.md": agent("v-build", role=words)})
    assert (found.file, found.rule) == ("v-build.agent.md", "TS-1.2")


@pytest.mark.parametrize(
    "path", ["review.md", "./review.md", "docs/feature/x/review.md", "<slug>/analysis.md", "verification/verifier.md"]
)
def test_a_combined_file_is_found_by_its_path(path: str) -> None:
    (found,) = found_in({**FILES, "v-build.agent.md": agent("v-build", role=f"First\nread {path}, then go on.")})
    assert told([found]) == [("v-build.agent.md", 11, "TS-2")]


@pytest.mark.parametrize(
    ("words", "active"),
    [
        ("Once all have returned, invoke the aggregator.", True),
        ("If they are not done, wait, then forward all of it to the aggregator.", True),
        ("The aggregator is not optional: it decides.", False),  # missed: the rule looks for "not" only
        ("No aggregator is invoked; nobody waits for an aggregator.", False),
        ("This replaces the removed aggregators.", False),
    ],
)
def test_the_bare_word_counts_in_the_patterns_where_it_is_not_denied(words: str, active: bool) -> None:
    patterns = FILES["dispatch-patterns.md"].replace("Dispatch all;", f"{words} Dispatch all;")
    assert {one.rule for one in found_in({**FILES, "dispatch-patterns.md": patterns})} == (
        {"TS-10.2"} if active else set()
    )


def test_headings_in_code_and_quotations_are_no_sections() -> None:
    role = "Write this:\n\n```markdown\n# Page\n\n## Outputs\n\n## Inputs\n```\n\n> ## Workflow\n\n- ## Role"
    assert found_in({**FILES, "v-build.agent.md": agent("v-build", role=role)}) == []


def test_what_a_sample_shows_is_not_what_an_agent_does() -> None:
    text = agent("v-build").replace("| `memory/v-build.mem.md` | isolated memory |", "| `x` | y |")
    text = text.replace("## Operating Rules", "```markdown\nmemory/v-build.mem.md\n```\n\n## Operating Rules")
    assert told(found_in({**FILES, "v-build.agent.md": text})) == [("v-build.agent.md", 20, "TS-4.1")]


@pytest.mark.parametrize(
    "contract",
    [
        "- `DONE`: it is written: all of it; nothing | is left, see: there.\n- `ERROR`: it is not. Say `why: …`.",
        "Say `DONE`, or `ERROR`. `NEEDS_REVISION` is not yours to give.",
        "You end with DONE or ERROR; there is no NEEDS_REVISION.",
        "| status | when |\n| --- | --- |\n| DONE | it is written |\n| ERROR | it is not, severity: any |",
        "- **DONE:** <summary>\n- **ERROR:** <reason>",
        "`DONE: <summary>` / `ERROR: <reason, one line>`",
    ],
)
def test_contracts_of_many_forms(contract: str) -> None:
    assert found_in({**FILES, "v-build.agent.md": agent("v-build", contract=contract)}) == []


@pytest.mark.parametrize(
    ("contract", "rule"),
    [
        ("- DONE: <summary>", "TS-16.1"),
        ("- FINISHED: <summary>\n- ERROR: <why>", "TS-16.1"),
        (REVISES, "TS-16.2"),
        ("Say `DONE`, `NEEDS_REVISION` or `ERROR`.", "TS-16.2"),
        ("```text\nDONE: <summary> | severity: <word>\nERROR: <why>\n```", "TS-16.3"),
        ("- DONE: <summary>; confidence: <0-1>\n- ERROR: <why>", "TS-16.3"),
        ("- `DONE: <summary>, files=<n>`\n- `ERROR: <why>`", "TS-16.3"),
    ],
)
def test_contracts_that_are_wrong(contract: str, rule: str) -> None:
    found = found_in({**FILES, "v-build.agent.md": agent("v-build", contract=contract)})
    assert {one.rule for one in found} == {rule}


@pytest.mark.parametrize(
    ("anchor", "rules"),
    [
        ("Never touch `memory.md`.", {"TS-13.1"}),
        ("You do NOT write to `memory.md`. Your isolated memory is yours.", set()),
        ("Be brief.", {"TS-13.3"}),
        ("The aggregator writes your isolated memory.", {"TS-13.2"}),
        ("There is no aggregator: your isolated memory is read as it is.", set()),
    ],
)
def test_anchors(anchor: str, rules: set[str]) -> None:
    assert {one.rule for one in found_in({**FILES, "v-build.agent.md": agent("v-build", anchor=anchor)})} == rules


def test_an_aggregator_may_stay_as_a_notice_and_no_more() -> None:
    notice = (
        "---\nname: ct-aggregator\ndescription: none\n---\n\n# CT Aggregator (deprecated)\n\nUse nothing instead.\n"
    )
    assert found_in({**FILES, "ct-aggregator.agent.md": notice}) == []
    working = notice + "\n## Workflow\n\n1. Read all.\n2. Combine.\n"
    assert told(found_in({**FILES, "ct-aggregator.agent.md": working})) == [("ct-aggregator.agent.md", 6, "TS-1.1")]


def test_agents_of_another_convention_are_left_alone_in_a_pipelines_folder_too() -> None:
    plain = "---\nname: helper\ndescription: helps\n---\nHelp. Read `analysis.md`. Ask ct-aggregator.\n"
    more = {"helper.md": plain, "README.md": "# Read me\n\nNo ct-aggregator.\n", "notes.md": "`verifier.md`\n"}
    assert found_in({**FILES, **more}) == []
    assert {one.file for one in found_in({**FILES, **more}, forced=True)} == {"helper.md"}


def test_a_folder_is_a_pipeline_by_who_leads_it_or_by_several_names() -> None:
    two = {
        name: text.replace(".mem.md", ".md")
        for name, text in FILES.items()
        if name in ("spec.agent.md", "v-build.agent.md")
    }
    assert found_in(two) == []
    assert found_in(two, forced=True)
    other = {
        f"{name}.agent.md": agent(name).replace(".mem.md", ".md") for name in ("researcher", "planner", "implementer")
    }
    some = "---\nname: orchestrator\ndescription: leads\n---\nSend out the planner, then the aggregator.\n"
    assert found_in({**two, **other, "feature-workflow.prompt.md": "Go.\n"}) == []
    assert found_in({**two, **other, "orchestrator.md": some}) == []
    clusters = ("ct-security.agent.md", "r-knowledge.agent.md")
    three = {**two, **{name: FILES[name] for name in clusters}}
    assert {one.rule for one in found_in(three)} == {"TS-4.1"}
    assert found_in(three, plain=True) == []
    led = {**two, "orchestrator.agent.md": FILES["orchestrator.agent.md"]}
    assert {one.rule for one in found_in(led)} == {"TS-4.1"}


def test_an_agent_that_the_orchestrator_names_is_one_of_the_pipeline() -> None:
    mine = agent("linter").replace("memory/linter.mem.md", "notes.md")
    assert found_in({**FILES, "linter.agent.md": mine}) == []
    led = FILES["orchestrator.agent.md"].replace("Pattern A.", "Pattern A, then `linter`.")
    found = found_in({**FILES, "orchestrator.agent.md": led, "linter.agent.md": mine})
    assert {one.rule for one in found} == {"TS-4.1"}


def test_who_an_agent_is_and_what_it_never_does_may_stand_below_the_title() -> None:
    text = agent("v-build")
    start, end = text.index("## Role"), text.index("## Inputs")
    opened = text[:start] + "You are v-build. You NEVER write code.\n\n" + text[end:]
    assert found_in({**FILES, "v-build.agent.md": opened}) == []
    bare = text[:start] + "You are v-build.\n\n" + text[end:]
    assert told(found_in({**FILES, "v-build.agent.md": bare})) == [("v-build.agent.md", 10, "TS-15.2")]


def test_a_section_may_have_a_longer_name() -> None:
    text = agent("v-build").replace("## Workflow", "## Build Workflow").replace("## Inputs", "## Inputs (strict)")
    assert found_in({**FILES, "v-build.agent.md": text}) == []


def test_a_code_block_that_takes_in_the_rest_is_found_once_and_the_rest_is_read_all_the_same() -> None:
    text = agent("v-build")
    for opened in ("```text\nx\n\n## Workflow", "```markdown\na\n```\nb\n```\n\n## Workflow"):
        for end in ("", "\n```\n"):
            broken = (
                text.replace("## Workflow", opened).replace("```text\nDONE", "DONE").replace("not>\n```", "not>") + end
            )
            (found,) = found_in({**FILES, "v-build.agent.md": broken})
            assert (found.rule, broken.splitlines()[found.line - 1][:3]) == ("TS-15.5", "```")


def test_code_blocks_that_open_each_other_without_end_are_read_to_their_end() -> None:
    broken = agent("v-build") + "\n```a\nx\n" * 1500
    found = found_in({**FILES, "v-build.agent.md": broken})
    assert {one.rule for one in found} == {"TS-15.5"}


def test_a_structure_may_be_a_list_and_an_agent_that_is_gone_may_be_spoken_of() -> None:
    lead = FILES["orchestrator.agent.md"]
    start, end = lead.index("```\ndocs/feature"), lead.index("## Memory Lifecycle")
    listed = lead[:start] + "- memory.md\n- memory/\n  - <agent-name>.mem.md\n\n" + lead[end:]
    told_of = listed.replace("Create the folder.", "This replaces the removed aggregator agents.")
    assert found_in({**FILES, "orchestrator.agent.md": told_of}) == []


def test_an_agent_that_is_deprecated_is_judged_by_nothing() -> None:
    old = "> **Deprecated.**\n\n# Critical thinker\n\n## Inputs\n\n`analysis.md`\n\n## Outputs\n\n## Workflow\n"
    assert found_in({**FILES, "critical-thinker.agent.md": old}) == []
