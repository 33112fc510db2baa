"""Turns a request into the inputs of a run; everything is checked before anything is written."""

import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path, PurePath

from trued.agents.adapters import agent_names, agent_of, capabilities_of, load_agent
from trued.agents.roles import find_roles
from trued.engine.agent_selection import check_agents, roles_of_other_workflows, select_agents
from trued.engine.inputs import Inputs, Request
from trued.engine.requirements_source import blobs_of
from trued.engine.resume_from_branch import KnownRuns, find_branch_to_continue
from trued.engine.role_selection import check_role_names, check_trust, select_roles
from trued.engine.ticket_branch import names_tracker_ticket, ticket_from_file, ticket_from_tracker
from trued.errors import BadInput
from trued.inputs.goals import TEACH
from trued.inputs.plans.plan import parse_plan, read_plan
from trued.inputs.plans.selection import chosen_parts, chosen_requirements
from trued.inputs.recognition import FileKind, plan_of, recognise_file
from trued.inputs.requirements.file import load_requirements
from trued.inputs.settings.folders import user_config, user_home
from trued.inputs.settings.hub import STORE_VARIABLE
from trued.inputs.settings.hub import VARIABLE as HUB_VARIABLE
from trued.inputs.settings.loader import load_settings
from trued.model import Goal, Requirements, Role, RunRecord, Settings, Source, Ticket
from trued.run.context import EDITION
from trued.support.lazy_regex import lazy_regex
from trued.support.located import read_text
from trued.workflows.descriptor import Input, WorkflowDescriptor
from trued.workflows.handoff.feature_list import is_feature_list
from trued.workflows.input_checks import ways_to_read
from trued.workflows.registry import default_workflow, descriptor, descriptors
from trued.workspace.git.repository import Repository, blocking_file, open_repository, person_of
from trued.workspace.sandbox.levels import check_agent_network, choose_level

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
SPECIFICATION = lazy_regex(r"(?:app[-_])?spec(?:ification)?(?:[-_.].*)?|feature_list\.json", re.IGNORECASE)
# environment variables that lead to a person's windows, buses, terminals, key agents and containers
SESSION = (
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER", "XDG_RUNTIME_DIR"),
    *("DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO"),
    *("TMUX", "TMUX_PANE", "STY", "DOCKER_HOST"),
)
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # for ids; no two look alike


def prepare_inputs(
    request: Request,
    home: Path,
    environ: Mapping[str, str],
    *,
    any_agent: bool = False,
    runs: KnownRuns | None = None,
) -> Inputs:
    """The inputs of a run. Raises BadInput for a request that cannot be carried out, and Untrusted if the user does not
    trust the repository's settings or roles.

    `any_agent`: do not check which agents are installed. `runs`: branches and bases of earlier runs.
    """
    repository = open_repository(request.repository, empty=True)
    if repository.taken:
        what = f"{repository.root} has a branch called trued, so there can be no branch trued/<run>"
        raise BadInput(what, then="rename it: git branch -m trued another-name")
    agreed = check_trust(repository.root, home, request.trust)
    user = user_config(environ)
    settings = load_settings(request.flags, environ, repository.root, user)
    goal, ticket = _read_goal(request, settings, environ, repository.root)
    workflow = choose_workflow(_wanted_workflow(request, settings), goal, ticket)
    workflow.load_flow()  # a broken workflow is refused before anything is written
    _check_start(repository, workflow)
    settings = settings.model_copy(update={"workflow": workflow.name})
    state = workflow.branch_state
    if request.base and not state:
        raise BadInput(f"{workflow.name} cannot continue from a branch", "--base", "leave it out to start at HEAD")
    remembered = runs or KnownRuns()
    left = (
        find_branch_to_continue(repository.root, state, goal, request.branch, remembered, request.base)
        if state
        else None
    )
    found = find_roles(repository.root, user, user_home(environ), workflow=workflow.role_files())
    check_role_names(settings, found)
    agents, looked = (settings.agents, "") if any_agent else _agents(settings, environ, workflow.needed_roles(goal))
    settings = settings.model_copy(update={"agents": agents})
    _check_brought(settings)
    roles = select_roles(found, settings, agreed)
    _check_roles(settings, roles, workflow.needed_roles(goal))
    _check_variables(settings)
    requirements = load_requirements(request.requirements) if request.requirements else None
    requirements = _of_chosen_parts(requirements, goal, settings, workflow)
    workflow.check(goal, requirements, ticket)
    level = choose_level(settings.sandbox, settings.allow_unsandboxed)
    check_agent_network(level, settings.network)
    return Inputs(
        goal=goal,
        ticket=ticket,
        settings=settings,
        roles=roles,
        requirements=requirements,
        requirements_file=str(request.requirements.resolve()) if request.requirements else "",
        requirements_blobs=blobs_of(request.requirements.read_bytes()) if request.requirements else (),
        instructions=_instructions(repository.root),
        level=level,
        version=version("trued"),
        dirty=repository.dirty[:50],
        looked=looked,
        onto=repository.branch,
        author=person_of(repository.root, environ) if settings.commit_author == "user" else "",
        edition=EDITION,
        start=left.tip if left else "",
        branch=left.branch if left else "",
        base=left.base if left else "",
    )


def _of_chosen_parts(
    requirements: Requirements | None, goal: Goal, settings: Settings, workflow: WorkflowDescriptor
) -> Requirements | None:
    """The requirements about the parts of the plan that the user chose (--chunk, --phase). If the user chose no part:
    all requirements. None without a requirements file. Raises BadInput if the workflow cannot work on parts."""
    if not settings.chunks and not settings.phases:
        return requirements
    option = "--chunk" if settings.chunks else "--phase"
    if not workflow.takes_parts or not goal.source.file:
        able = " or ".join(workflow.name for workflow in descriptors() if workflow.takes_parts)
        raise BadInput(
            f"{workflow.name} works on the whole goal", option, f"leave it out, or name a plan and -w {able}"
        )
    plan = parse_plan(goal.text, goal.source.file)
    given = requirements.requirements if requirements else ()
    part = chosen_parts(plan, settings.chunks, settings.phases, [requirement.covers for requirement in given])
    return chosen_requirements(requirements, plan, part) if requirements else None


def choose_workflow(wanted: str, goal: Goal, ticket: Ticket | None) -> WorkflowDescriptor:
    """The workflow that the user named, else the default for this kind of input. For a ticket, a named workflow that
    takes no tickets is ignored."""
    if ticket and (not wanted or descriptor(wanted).takes is not Input.TICKET):
        return default_workflow(Input.TICKET)
    return descriptor(wanted) if wanted else default_workflow(input_kind(goal))


def input_kind(goal: Goal) -> Input:
    """What kind of input the goal looks like. Raises BadInput for a file that is not recognised."""
    file = goal.source.file
    if is_feature_list(goal.text) or SPECIFICATION.fullmatch(PurePath(file).name):
        return Input.SPECIFICATION
    if not file:
        return Input.WORDS
    found = recognise_file(goal.text, file)
    if found.kind is FileKind.UNKNOWN:
        what = f"this is not a plan, ticket, specification or goal: {found.why}"
        raise BadInput(
            what, file, f"say how to read it: {ways_to_read()}; a requirements file goes with --requirements"
        )
    return Input[found.kind.name]


def _check_start(repository: Repository, workflow: WorkflowDescriptor) -> None:
    if not repository.head and not workflow.starts_empty:
        what = f"the repository {repository.root} has no commit yet"
        able = " or ".join(f"`-w {workflow.name}`" for workflow in descriptors() if workflow.starts_empty)
        raise BadInput(what, then=f"`git commit --allow-empty -m start` makes one; {able} can start without one")
    folder = workflow.writes_into
    if folder and (path := blocking_file(repository.root, folder)):
        what = f"{path} is not a folder, but {workflow.name} writes into {folder}"
        raise BadInput(what, then=f"rename {path}, and commit")


def _wanted_workflow(request: Request, settings: Settings) -> str:
    """The workflow that the user named, on the command line or in the settings; "" if they named none."""
    return request.workflow or (settings.workflow if "workflow" in settings.model_fields_set else "")


def _read_goal(
    request: Request, settings: Settings, environ: Mapping[str, str], root: Path
) -> tuple[Goal, Ticket | None]:
    """The goal and, if it is a ticket, the ticket as read from its tracker or file."""
    takes_tickets = not request.workflow or descriptor(request.workflow).takes is Input.TICKET
    if takes_tickets and names_tracker_ticket(request.goal, settings):
        ticket = ticket_from_tracker(request.goal, settings, environ, root)
        return Goal(text=ticket.text, source=ticket.source), ticket
    if names_tracker_ticket(request.goal, settings):
        what = f"{request.goal} is a tracker's ticket, but {request.workflow} takes no tickets"
        raise BadInput(what, then="leave out -w, or pass the ticket's text")
    wanted = _wanted_workflow(request, settings)
    takes = descriptor(wanted).takes if wanted else None
    goal = _goal(request.goal, root, takes)
    if takes is Input.TICKET and not goal.source.file:
        raise BadInput(
            f"{request.goal[:80]!r} names no ticket", then="name a file, #12, owner/name#12, SHOP-7 or a page's address"
        )
    is_one = takes is Input.TICKET or (not wanted and input_kind(goal) is Input.TICKET)
    return goal, ticket_from_file(goal, root) if is_one else None


def new_record(inputs: Inputs, repository: Repository, taken: Collection[str]) -> RunRecord:
    """A record of a new run, with an id that no other run has."""
    name = next(candidate for candidate in iter(_new_id, "") if candidate not in taken)
    goal = inputs.goal
    plan = plan_of(goal) if descriptor(inputs.settings.workflow).takes is Input.PLAN else None
    title = plan.title if plan else _title(goal)
    title = f"{inputs.ticket.key}: {inputs.ticket.summary}" if inputs.ticket else title
    base = inputs.base or repository.head
    return RunRecord(
        id=name,
        workflow=inputs.settings.workflow,
        title=title or goal.title,
        repository=str(repository.root),
        base=base,
        branch=inputs.branch or f"trued/{name}",
        head=inputs.start or base,
    )


def _title(goal: Goal) -> str:
    if is_feature_list(goal.text):
        return f"the features of {PurePath(goal.source.file).name or 'a list'}"
    return goal.title


def _goal(given: str, root: Path, takes: Input | None) -> Goal:
    """The goal: the text of the file at the path `given`, or `given` itself if it is no path. `takes`: the kind of
    input that the user's workflow takes."""
    if not given.strip():
        raise BadInput("the goal is empty", then="name a plan file, or write the goal in words")
    path = Path(given)
    try:
        is_there = path.exists()
    except (OSError, ValueError):  # the goal is a sentence, too long for a file name
        is_there = False
    if not is_there:
        if _looks_like_a_file(given):
            raise BadInput(f"there is no file {given}", then="name a plan file, or write the goal in words")
        return Goal(text=given)
    resolved = path.resolve()
    shown = resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else str(resolved)
    text = read_text(path) if takes is Input.WORDS else read_plan(path)
    if not text.strip().strip("\ufeff"):
        raise BadInput("the goal is empty", f"{path}:1", TEACH)
    return Goal(text=text, source=Source(file=shown, line=1))


def _looks_like_a_file(given: str) -> bool:
    return len(given.split()) == 1 and (Path(given).suffix in (".md", ".markdown", ".txt", ".json") or "/" in given)


def _agents(settings: Settings, environ: Mapping[str, str], needed: Sequence[str]) -> tuple[dict[str, str], str]:
    """Role → agent, and a sentence about the detected agents. Raises BadInput if an agent is unknown or not
    installed."""
    for named_agent in settings.agents.values():
        capabilities_of(named_agent)
    agents, looked = select_agents(settings, environ, needed)
    # Agents that only play roles of other workflows are left out: they need not be installed, and their vendors must
    # not count among those that build.
    others = roles_of_other_workflows(settings.workflow)
    agents = {role: agent for role, agent in agents.items() if role not in others}
    check_agents(agents.values(), settings, environ)
    return {role: _agent(agent) for role, agent in agents.items()}, looked


def _agent(agent: str) -> str:
    """The agent as given, but with an absolute path in `scripted:PATH`."""
    kind, _, rest = agent.partition(":")
    return f"scripted:{Path(rest).expanduser().resolve()}" if kind == "scripted" else agent


def _check_brought(settings: Settings) -> None:
    for agent in settings.bring:
        if not agent_of(agent).brings:
            able = ", ".join(kind for kind in agent_names() if load_agent(kind).brings)
            raise BadInput(f"{agent} cannot load the project's own settings", "bring", f"these can: {able}")


def _check_roles(settings: Settings, roles: Mapping[str, Role], needed: Sequence[str]) -> None:
    """Raise BadInput unless every role that is needed exists and has an agent."""
    for name in needed:
        if name not in roles:
            raise BadInput(f"the workflow {settings.workflow} needs the role {name}", then="`trued roles` lists them")
        if not settings.agent_for(name):
            raise BadInput(f"no agent plays the role {name}", then=f"name one: --agent {name}=AGENT")


def _check_variables(settings: Settings) -> None:
    """Raise BadInput if the variables in the settings would give agents access to the person's session or to the hub.

    If the workflow offers pull requests, a token of the forge or tracker is refused, too: agents do not need the token,
    because the engine itself pushes, and opens the pull requests.
    """
    if session := [name for name in settings.variables if name in SESSION]:
        what = f"`variables` would give agents access to your own session: {session[0]}"
        raise BadInput(what, then="take it out: an agent could answer in your place")
    given = {*settings.variables, *settings.environment.variables}
    opens = {HUB_VARIABLE: "the journal of all runs", STORE_VARIABLE: "the work of all runs"}
    if named := [name for name in opens if name in given]:
        what = f"agents would see {named[0]}, which gives access to {opens[named[0]]}"
        raise BadInput(what, then="take it out of `variables`")
    tokens = {settings.forge.token_env, settings.tickets.token_env, "GITHUB_TOKEN", "JIRA_TOKEN"}
    offers = descriptor(settings.workflow).offers_pull_request
    if offers and (shown := sorted(tokens & set(settings.variables))):
        what = f"`variables` would show {shown[0]} to agents"
        raise BadInput(what, then="take it out: the engine pushes and opens the pull request itself")


def _instructions(root: Path) -> str:
    """The project's instructions to agents. Symbolic links that lead out of the repository are not followed."""
    texts = [(name, (root / name).resolve()) for name in INSTRUCTIONS]
    inside = [(name, path) for name, path in texts if path.is_file() and path.is_relative_to(root.resolve())]
    return "\n\n".join(f"# {name}\n{path.read_text(errors='replace')}" for name, path in inside)


def _new_id() -> str:
    return "r-" + "".join(secrets.choice(LETTERS) for _ in range(5))
