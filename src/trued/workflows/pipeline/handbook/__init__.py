"""The pipeline as files that a person or an agent can follow without the engine: an orchestrator, its patterns, and a
prompt."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from trued.agents.roles.export import Export, fields_of, plan_export, with_mark
from trued.agents.roles.other_tools import RoleFormat
from trued.agents.roles.tools import TOOLS
from trued.model import Role
from trued.workflows.by_hand import ARGUMENT, COMMANDS, templates_in
from trued.workflows.pipeline.decision_tables import TABLES, DecisionTable
from trued.workflows.pipeline.handbook.facts import ORCHESTRATOR, facts

ABOUT = "Leads one feature from the request to reviewed work: sends agents out, merges their memories, decides by table"
PATTERNS = "How the orchestrator of the pipeline sends agents out"
PROMPT = "Build a feature: research, spec, design, critique, plan, implementation, verification, review"
TOP = {"claude": ".claude", "github": ".github", "opencode": ".opencode"}
# tool → the line in the prompt's front matter that selects the orchestrator; Claude needs none
LEADS = {"github": "agent: orchestrator", "opencode": "agent: orchestrator.agent"}
WIDE = 128


def handbook(form: RoleFormat, top: Path, tables: Sequence[DecisionTable] = TABLES) -> list[Export]:
    """The files of the handbook (orchestrator, dispatch patterns, prompt), in the format of a tool."""
    return [plan_export(ORCHESTRATOR, top / path, text, top) for path, text in texts(form, tables).items()]


def texts(form: RoleFormat, tables: Sequence[DecisionTable] = TABLES) -> dict[str, str]:
    """Path → text of the handbook's files. Names and numbers are taken from the engine."""
    orchestrator = f"{form.folder}/{ORCHESTRATOR}.agent.md"
    patterns = f"{TOP[form.name]}/dispatch-patterns.md"
    files = {"orchestrator_file": orchestrator, "patterns_file": patterns, "argument": ARGUMENT[form.name]}
    known = {**facts(tables), **files}
    known["rules"] = [_wrapped(rule) for rule in known["rules"]]
    leads = [LEADS[form.name]] if form.name in LEADS else []
    prompt = str(PurePosixPath(COMMANDS[form.name]).with_name("feature-workflow.prompt.md"))
    return {
        orchestrator: _written("orchestrator.agent.md", _head(form), known),
        patterns: _written("dispatch-patterns.md", [f"description: {PATTERNS}"], known),
        prompt: _written("feature-workflow.prompt.md", [f'description: "{PROMPT}"', *leads], known),
    }


def _head(form: RoleFormat) -> Iterator[str]:
    """The orchestrator's front matter: all tools except web and browser, and the permission to start agents."""
    tools = tuple(tool for tool in TOOLS if tool not in ("web", "browser"))
    role = Role(name=ORCHESTRATOR, description=ABOUT, tools=tools, model="large", prompt="-", writes=True)
    return fields_of(role, form, starts_agents=True)


def _written(name: str, head: Iterator[str] | Sequence[str], known: dict[str, object]) -> str:
    return with_mark(head, templates_in(Path(__file__).parent).get_template(f"{name}.j2").render(known))


def _wrapped(rule: str) -> str:
    return textwrap.fill(rule, WIDE, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
