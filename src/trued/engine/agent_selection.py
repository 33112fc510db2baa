"""Finds the agents that are installed here, without calling any, and selects them for a run's roles."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from trued.agents.adapters import agent_names, agent_of, load_agent
from trued.agents.driver.agent import Agent
from trued.agents.driver.discovery import find_program, program_version
from trued.agents.driver.login import LoginMethod, choose_login
from trued.errors import BadInput
from trued.inputs.settings.folders import user_home
from trued.model import Settings
from trued.model.settings import agent_kind
from trued.workflows.registry import descriptor, descriptors

# the agents that are selected if the user names none; those whose replies, budgets and records work best come first
PREFERRED = ("claude", "codex", "gemini", "opencode", "qwen")
MODELS = {  # provider → model of the built-in coder, for users without a ready agent but with an API key
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5",
    "google": "gemini-2.5-pro",
}
EXAMINER = "examiner"
# roles that every run may have, in addition to those that its workflow names
ROLES = ("planner", "examiner", "second-examiner")
WITHOUT = "`trued verify`, `trued gate` and `trued demo` need no agent"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent on this machine: whether it is installed, and how it would log in."""

    name: str
    agent: Agent
    path: str = ""
    version: str = ""
    login: LoginMethod = field(default_factory=lambda: LoginMethod("", ""))
    missing: str = ""  # why it cannot be started, as the end of a sentence: "is not installed: …"; "" if it can
    installs: tuple[str, ...] = ()  # how to install what is missing

    @property
    def ready(self) -> bool:
        return not self.missing and self.login.ready

    @property
    def vendor(self) -> str:
        return self.agent.capabilities.vendor

    @property
    def to_do(self) -> str:
        """The shortest way to make this agent ready; empty if it is ready."""
        return ", then ".join([*self.installs, *([self.agent.login.how] if not self.login.ready else [])])


def installed_agents(settings: Settings, environ: Mapping[str, str], *, versions: bool = False) -> list[AgentStatus]:
    """The status of every agent that trued has an adapter for, installed or not, preferred agents first. `versions`:
    also run the programs of preferred agents to get their versions."""
    names = sorted(
        agent_names(), key=lambda name: (PREFERRED.index(name) if name in PREFERRED else len(PREFERRED), name)
    )
    seen = [agent_status(name, load_agent(name), settings, environ) for name in names]
    if not versions:
        return seen
    with ThreadPoolExecutor() as pool:
        said = list(
            pool.map(lambda agent: program_version(agent.path) if agent.path and agent.name in PREFERRED else "", seen)
        )
    return [replace(agent, version=version) for agent, version in zip(seen, said, strict=True)]


def agent_status(name: str, agent: Agent, settings: Settings, environ: Mapping[str, str]) -> AgentStatus:
    home = user_home(environ)
    login = choose_login(agent.login, settings.login_of(name), environ, home, time.time())
    place = find_program(agent.program, environ.get("PATH", ""), str(home)) if agent.program else None
    missing, installs = "", list[str]()
    if agent.program and place is None:
        missing = f"is not installed: there is no program {agent.program} on PATH"
        installs.append(agent.install)
    if any(find_spec(module) is None for module in agent.modules):
        missing = missing or f"needs the extra trued[{agent.extra}]"
        installs.append(f"pip install 'trued[{agent.extra}]'")
    return AgentStatus(name, agent, place.path if place else "", login=login, missing=missing, installs=tuple(installs))


def check_agents(agents: Iterable[str], settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise BadInput if one of the agents is unknown or not installed, or if the settings have a login for an unknown
    agent or for a model. Whether an agent can log in is not checked."""
    for name in settings.login:
        if name not in ("*", *agent_names()):
            agent_of(name)
            raise BadInput(f"{name} names a model", "[login]", "name the agent without its model")
    for name in dict.fromkeys(agents):
        status = agent_status(name, agent_of(name), settings, environ)
        if status.missing:
            # agents that take an argument share one title, so their full name is shown
            title = status.name if status.agent.specify else status.agent.title
            raise BadInput(f"{title} {status.missing}", then=status.to_do)


def select_agents(
    settings: Settings, environ: Mapping[str, str], needed: Sequence[str] | None = None
) -> tuple[dict[str, str], str]:
    """Role → agent, and a sentence on the agents that were detected. Agents that the user named take precedence; if
    the user named one for every needed role, the sentence is "". Raises BadInput if a role lacks an agent and no agent
    is ready.

    `needed`: the roles that must have an agent; None: all roles of the workflow.
    """
    named = settings.agents
    workflow = descriptor(settings.workflow)
    needed = workflow.roles if needed is None else needed
    if "*" in named or all(role in named for role in needed):
        return named, ""
    seen = ready_agents(installed_agents(settings, environ), settings, environ)
    if not seen:
        lacking = [role for role in needed if role not in named] if named else []
        raise BadInput(*_no_agent_error(installed_agents(settings, environ), lacking))
    agents = propose_agents(seen, workflow.other_vendor_roles)
    by_name = {agent.name: agent for agent in seen}
    logins = dict.fromkeys(f"{by_name[agent].agent.title} {by_name[agent].login.says}" for agent in agents.values())
    return {**agents, **named}, f"{describe_agents(agents)}; {'; '.join(logins)}"


def ready_agents(seen: Sequence[AgentStatus], settings: Settings, environ: Mapping[str, str]) -> list[AgentStatus]:
    """The agents that could start now. Includes raw models only if no other agent could start, because an API key in
    the environment may be there for another purpose."""
    able = [agent for agent in seen if agent.name in PREFERRED and agent.ready]
    if able or any(agent.name == "coder" and agent.missing for agent in seen):
        return able
    names = [f"coder:{provider}:{model}" for provider, model in MODELS.items()]
    return [status for name in names if (status := agent_status(name, agent_of(name), settings, environ)).ready]


def propose_agents(seen: Sequence[AgentStatus], checking: Collection[str] | None = None) -> dict[str, str]:
    """Role → agent; {} if `seen` is empty. If `seen` has agents of several vendors, roles that examine or check get an
    agent of another vendor than all other roles. `checking`: the roles that check; None: the checking roles of all
    workflows."""
    if not seen:
        return {}
    first = seen[0]
    others = {
        agent.vendor: agent.name for agent in reversed(seen) if first.vendor and agent.vendor not in ("", first.vendor)
    }
    names = [agent.name for agent in seen if agent.name in others.values()]
    if not names:
        return {"*": first.name}
    if checking is None:
        checking = {role for workflow in descriptors() for role in workflow.other_vendor_roles}
    checks = dict.fromkeys(sorted(checking), names[0])
    return {"*": first.name, **checks, EXAMINER: names[-1] if len(names) == 1 else names[1]}


def describe_agents(agents: Mapping[str, str]) -> str:
    """Role → agent as a text for people."""
    rest = [f"{agent} as {role}" for role, agent in agents.items() if role != "*"]
    every = [f"{agents['*']} {'in all other roles' if rest else 'in every role'}"] if "*" in agents else []
    return ", ".join([*rest, *every])


def default_agents(seen: Sequence[AgentStatus], settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Role → agent for a run without --agent. Roles for which the settings name no agent get agents that are ready."""
    return (
        settings.agents
        if "*" in settings.agents
        else {**propose_agents(ready_agents(seen, settings, environ)), **settings.agents}
    )


def roles_of_other_workflows(workflow: str) -> set[str]:
    """Roles that other workflows have, but this workflow does not; without the shared roles. A run of this workflow
    needs none of these roles. A project's own agents often have the same names (`qa`, `spec`), but do something
    else."""
    every = {role for workflow in descriptors() for role in workflow.roles}
    return every - {*descriptor(workflow).roles, *ROLES}


def every_role(agents: Mapping[str, str]) -> tuple[str, ...]:
    """The roles of all workflows, the shared roles, and those in `agents`."""
    every = dict.fromkeys([*(role for workflow in descriptors() for role in workflow.roles), *ROLES, *agents])
    return tuple(role for role in every if role != "*")


def roles_of_agent(name: str, agents: Mapping[str, str]) -> tuple[str, ...]:
    """The roles that `agents` gives to the agent `name`, whatever its model."""
    kind = agent_kind(name)
    return tuple(role for role in every_role(agents) if agent_kind(agents.get(role) or agents.get("*", "")) == kind)


def _no_agent_error(seen: Sequence[AgentStatus], lacking: Sequence[str]) -> tuple[str, str, str]:
    """The arguments of the BadInput to raise if no agent can start: what is wrong, how to get an agent, and what works
    without. `lacking`: the roles without an agent; empty if the user named no agents at all."""
    installed = [agent for agent in seen if agent.name in PREFERRED and not agent.missing]
    if installed:
        what = "; ".join(f"{agent.agent.title} is installed, and {agent.login.says}" for agent in installed)
        ways = "; ".join(dict.fromkeys(agent.to_do for agent in installed))
    else:
        what, ways = "no agent is named, and none is installed", shortest_setup(seen)
    if lacking:
        what = f"no agent is named for {', '.join(lacking)}: {what.removeprefix('no agent is named, and ')}"
        ways = f"name one: --agent {lacking[0]}=AGENT; or {ways}"
    return what, "", f"{ways}; or name another with --agent; {WITHOUT}"


def shortest_setup(seen: Sequence[AgentStatus]) -> str:
    """The quickest ways to get an agent, as one text."""
    return "; or ".join(agent.to_do for agent in seen if agent.name in PREFERRED[:2] or agent.name == "coder")
