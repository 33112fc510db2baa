"""The command `doctor`: checks what a run needs on this machine, and prints the exact fix for each problem."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import typer
from rich.text import Text

from trued.cli.agents import settings_here
from trued.cli.context import AsJson, top_of
from trued.cli.project_kind import kind_here
from trued.cli.terminal import home as state_home
from trued.cli.terminal import out, print_json
from trued.engine import agent_selection as agents
from trued.engine.diagnostics import agent_reach, check_network, runs_with_leftover_logins
from trued.engine.role_selection import check_role_names, roles_here
from trued.errors import BadInput
from trued.inputs.project.kind import STEPS
from trued.model import Settings
from trued.proof.room.chromium import find_chromium
from trued.support.plain_text import plain
from trued.workspace.git.rebase import NEEDED as MERGING
from trued.workspace.sandbox.levels import probe_levels

GIT = (2, 31)  # the first version with everything that the private store uses, such as `git rev-parse --path-format`
FREE_BYTES = 1024**3  # the least free space: clones and clean rooms of a mid-sized repository need that much
SESSION_FIX = {
    "bubblewrap": "use Linux 6.12 or newer with Landlock, and remove your session's folders from `readable`"
    " in your settings",
    "landlock": "get bubblewrap to work, as said above, and use Linux 6.12 or newer",
    "none": "use a sandbox",
}


app = typer.Typer(rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    name: str
    state: Literal["ok", "missing", "broken"]  # "missing": trued works without this thing, but can do less
    says: str
    fix: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # more details, for --json

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "facts" or value}


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine and this project: what works, what is missing, and the exact fix for each problem."""
    diagnoses = diagnose(state_home(), settings_here(), top_of(Path.cwd()))
    if as_json:
        print_json([diagnosis.as_json() for diagnosis in diagnoses])
    else:
        console = out()
        for diagnosis in diagnoses:
            mark, style = {"ok": ("✓", "green"), "missing": ("·", "yellow"), "broken": ("✗", "bold red")}[
                diagnosis.state
            ]
            console.print(
                Text.assemble((f"{mark} ", style), (f"{diagnosis.name:<12} ", "bold"), plain(diagnosis.says)),
                soft_wrap=True,
            )
            if diagnosis.fix:
                console.print(Text(f"  {'':<12} → {plain(diagnosis.fix)}", "yellow"), soft_wrap=True)
    raise typer.Exit(6 if any(diagnosis.state == "broken" for diagnosis in diagnoses) else 0)


def diagnose(home: Path, settings: Settings, top: Path | None = None) -> list[Diagnosis]:
    machine = [_python(), _git(), *_sandbox(), _session(settings), _home(home), _space(home), _browser()]
    project = [_project(top, settings)] if top else []
    return [*machine, *_agents(settings, top), *_logins(settings, home), _network(settings), *project]


def _project(top: Path, settings: Settings) -> Diagnosis:
    """What kind of project a run would detect in this folder."""
    kind = kind_here(top, settings)
    facts = {"kind": kind.name, **{step: getattr(kind, step) for step in STEPS}, "why": list(kind.why)}
    facts["names"] = list(kind.names)
    fix = "" if kind.test else 'if it has tests, set the command that runs them: [commands] test = "…" in trued.toml'
    return Diagnosis("project", "ok" if kind.test else "missing", kind.summary, fix, facts)


def _agents(settings: Settings, top: Path | None) -> Iterator[Diagnosis]:
    """A line for each installed agent, and a last line about the roles. The last line says which agents would play the
    roles, what is wrong with a role, or how to get an agent if none is ready."""
    statuses = agents.installed_agents(settings, os.environ)
    installed = [status for status in statuses if status.name in agents.PREFERRED and not status.missing]
    for status in installed:
        says = f"{status.agent.title} at {status.path}; {status.login.says}"
        yield Diagnosis(status.name, "ok" if status.ready else "missing", says, status.to_do)
    cast = agents.default_agents(statuses, settings, os.environ)
    if wrong := _wrong_role(settings, top):
        yield Diagnosis("roles", "broken", wrong.what, wrong.then)
    elif cast:
        yield Diagnosis("roles", "ok", agents.describe_agents(cast))
    else:
        says = f"no agent is ready; {agents.WITHOUT}"
        yield Diagnosis("roles", "missing", says, "" if installed else agents.shortest_setup(statuses))


def _wrong_role(settings: Settings, top: Path | None) -> BadInput | None:
    """The error that would stop every run: an agent for a role that does not exist, or a broken role file. None if
    there is no such error."""
    try:
        check_role_names(settings, roles_here(top, settings, os.environ))
    except BadInput as error:
        return error
    return None


def _logins(settings: Settings, home: Path) -> Iterator[Diagnosis]:
    logins = {**{"*": "auto"}, **settings.login}
    policies = [
        f"{'every other agent' if len(logins) > 1 and name == '*' else name}: {how}" for name, how in logins.items()
    ]
    default = (
        "auto: an API key from your environment if the agent accepts it, else your subscription, borrowed per call"
    )
    yield Diagnosis("login", "ok", ", ".join(policies) if settings.login else default)
    if leftovers := runs_with_leftover_logins(home):
        says = f"copies of your credentials remain in killed runs: {', '.join(sorted(leftovers))}"
        others = "; likewise the others" if len(leftovers) > 1 else ""
        yield Diagnosis(
            "login", "broken", says, f"remove them: trued resume {leftovers[0]} or trued cancel {leftovers[0]}{others}"
        )


def _network(settings: Settings) -> Diagnosis:
    if settings.network == "host":
        return Diagnosis("network", "ok", 'agents use this machine\'s network (network = "host"); checks do not')
    try:
        check_network(settings)
    except BadInput as error:
        return Diagnosis("network", "broken", error.what, error.then)
    says = f'agents cannot reach a provider (network = "{settings.network}")'
    return Diagnosis("network", "missing", says, 'set network = "host" in trued.toml, unless the model runs here')


def _python() -> Diagnosis:
    return Diagnosis("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def _git() -> Diagnosis:
    try:
        output = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return Diagnosis("git", "broken", "git is not installed", "install it: apt, dnf or pacman install git")
    numbers = [part for part in output.split() if part[:1].isdigit()]
    version = tuple(int(part) for part in numbers[0].split(".")[:2] if part.isdigit()) if numbers else ()
    if version < GIT:
        return Diagnosis("git", "broken", f"{output} is too old", f"install git {GIT[0]}.{GIT[1]} or newer")
    if version < MERGING:
        less = "cannot merge without a working tree, so a branch that is behind cannot be landed or judged by `gate ci`"
        return Diagnosis("git", "missing", f"{output} {less}", f"install git {MERGING[0]}.{MERGING[1]} or newer")
    return Diagnosis("git", "ok", output.removeprefix("git version "))


def _sandbox() -> Iterator[Diagnosis]:
    levels = probe_levels()
    confined = [probe for probe in levels if probe.level != "none" and probe.works]
    for probe in levels:
        if probe.level == "none":
            continue
        unconfined = f"; not confined: {', '.join(probe.unconfined)}" if probe.unconfined else ""
        if probe.works:
            used = ", and is used by default" if probe is confined[0] else ""
            yield Diagnosis(probe.level, "ok", f"works{used}: a test program could not get out{unconfined}")
        else:
            yield Diagnosis(probe.level, "missing" if confined else "broken", f"does not work: {probe.why}", probe.fix)


def _session(settings: Settings) -> Diagnosis:
    """Whether a sandboxed agent could reach the user's session. To find out, trued listens on sockets like those of a
    session, and a test program in the sandbox tries to connect to them."""
    try:
        level, reached = agent_reach(settings)
    except BadInput as error:  # the selected sandbox level does not work; the line about that level shows the fix
        return Diagnosis("session", "missing", f"not tried: {error.what}")
    facts = {"level": level, "reached": list(reached)}
    if not reached:
        says = "agents cannot reach your windows, bus, terminal or key agent: you may approve while they work"
        return Diagnosis("session", "ok", says, facts=facts)
    says = (
        f"at level {level} agents can reach {', '.join(reached)} of your session and could act as you:"
        " approve, answer, amend and land are refused while an agent of that run is working"
    )
    return Diagnosis("session", "missing", says, SESSION_FIX[level], facts)


def _home(home: Path) -> Diagnosis:
    """Whether the state folder is writable and private. If the folder does not exist yet, its nearest existing parent
    is tested instead, and nothing is created."""
    fix = "set TRUED_HOME to a folder that you can write to"
    folder = _nearest(home)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".trued-doctor-"):
            pass
    except OSError as error:
        return Diagnosis("state", "broken", f"{home}: cannot write to {folder}: {error.strerror}", fix)
    if folder == home and home.stat().st_mode & 0o077:
        return Diagnosis("state", "broken", f"other users can read {home}", f"chmod 700 {home}")
    says = f"{home} is writable and private" if folder == home else f"{home}, created on first use"
    return Diagnosis("state", "ok", says)


def _nearest(folder: Path) -> Path:
    return next(candidate for candidate in (folder, *folder.parents) if candidate.is_dir())


def _space(home: Path) -> Diagnosis:
    free = shutil.disk_usage(_nearest(home)).free
    if free < FREE_BYTES:
        return Diagnosis(
            "disk", "broken", f"only {free // 1024**2} MB free for {home}", "free a gigabyte, or move TRUED_HOME"
        )
    return Diagnosis("disk", "ok", f"{free / 1024**3:.1f} GB free")


def _browser() -> Diagnosis:
    """Whether browser checks can run: looks for Chromium where browser checks look for it."""
    where, lack = find_chromium()
    if not lack:
        return Diagnosis("chromium", "ok", f"{where} (for browser checks)")
    what, _, fix = lack.partition(": ")
    return Diagnosis("chromium", "missing", f"{what}: browser checks cannot run", fix)
