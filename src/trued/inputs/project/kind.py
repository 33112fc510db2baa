"""Detect a project's languages, and how it is built, tested and started. The user's `[commands]` override what is
detected."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from trued.inputs.project import python as python_commands
from trued.inputs.project import toolchains
from trued.inputs.project.manifests import (
    MAKEFILES,
    Inside,
    Project,
    Read,
    folders,
    is_manifest,
    make_targets,
    makefile_of,
    projects,
    text_reader,
)
from trued.inputs.project.python import PythonCommands
from trued.model import Commands, Value
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table

DEEP = 2  # how many levels of folders are searched for projects: packages/web is on the second
MOST = 4  # the commands of at most this many projects are joined; with more, the user must say which are meant
LANGUAGES = {"python": "Python", "node": "Node", **toolchains.LANGUAGES}
STEPS = ("build", "test", "start")
TARGETS = {"build": ("build",), "test": ("test", "check"), "start": ("start", "run", "serve")}
_NODE_TEST = lazy_regex(r"(?:[^/]+/)*[^/]+\.test\.[cm]?[jt]s|(?:test|tests)/(?:[^/]+/)*[^/]+\.[cm]?js")
_UNSEEN = lazy_regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class ProjectKind(Value):
    """A project's languages, and one command line for each step; "" if no command is known."""

    names: tuple[str, ...] = ()
    build: str = ""
    test: str = ""
    start: str = ""
    why: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()  # each project's test command, to be started at the top; without parentheses around it

    @property
    def name(self) -> str:
        """The languages as text: `Python`, `mixed (Python, Node)`, `unknown`."""
        return f"mixed ({', '.join(self.names)})" if len(self.names) > 1 else "".join(self.names) or "unknown"

    @property
    def commands(self) -> dict[str, str]:
        """The known commands, by step."""
        return {step: command for step in STEPS if (command := getattr(self, step))}

    @property
    def summary(self) -> str:
        """The kind in one line: `Python; test: uv run pytest`."""
        return "; ".join((self.name, *(f"{step}: {command}" for step, command in self.commands.items())))


def project_kind(paths: Collection[str], read: Read) -> ProjectKind:
    """Detect the kind from a commit's paths. `read` gives the text of a file; only files that `files_to_read` names are
    read."""
    plain = [path for path in paths if not _UNSEEN.search(path)]
    by_folder = folders(plain, DEEP)
    inside = text_reader(by_folder, read)
    relevant = _relevant_projects(
        [*projects(plain, read, DEEP), *toolchains.toolchain_projects(by_folder, inside)], inside
    )
    reasons = [f"{LANGUAGES[project.language]}: {_manifest_paths(project)}" for project in relevant]
    with_commands = [_with_commands(project, by_folder[project.folder], inside) for project in relevant]
    reasons += [
        f"no test command for {_where(project)}: {reason}"
        for project, reason in with_commands
        if reason and not project.test
    ]
    complete = [project for project, _ in with_commands]
    kind = ProjectKind(
        names=tuple(dict.fromkeys(LANGUAGES[project.language] for project in complete)), why=tuple(reasons)
    )
    for step in STEPS:
        kind = _with_command(kind, step, complete)
    kind = kind.model_copy(update={"tests": tuple(project.test_alone for project in complete if project.test)})
    return _with_make_targets(kind, by_folder["."], inside)


def with_user_commands(kind: ProjectKind, commands: Commands) -> ProjectKind:
    """The kind with the user's own commands in place of detected ones."""
    users_own = {step: command for step in STEPS if (command := getattr(commands, step))}
    why = tuple(f"{step}: as [commands] says" for step in users_own)
    return kind.model_copy(update={**users_own, "why": (*kind.why, *why)}) if users_own else kind


def files_to_read(paths: Collection[str]) -> tuple[str, ...]:
    """The files whose text is needed: manifests, Makefiles, the usual programs (`main.py`, `app.py`), and a few tests
    of each project."""
    by_folder = folders([path for path in paths if not _UNSEEN.search(path)], DEEP)
    names = {name for folder, inside in by_folder.items() for name in _files_to_read_in(folder, inside)}
    return tuple(sorted(names))


def _files_to_read_in(folder: str, names: set[str]) -> Iterator[str]:
    manifests = [name for name in (*python_commands.DEPENDENCY_FILES, *toolchains.READ) if name in names]
    manifests += [name for name in names if is_manifest(name)]
    tests = list[str]()
    if folder == "." or manifests:  # other folders hold no project
        started = [name for name in (*python_commands.STARTED, *MAKEFILES) if name in names]
        most = python_commands.LOOKED
        tests = [*started, *python_commands.tests_in(names)[:most], *_node_tests(names)[:most]]
    for name in (*manifests, *tests):
        yield name if folder == "." else f"{folder}/{name}"


# -- projects and commands ---------------------------------------------------------------------------------------------


def _relevant_projects(projects_found: Sequence[Project], inside: Inside) -> list[Project]:
    """The projects that count. Loose scripts, and a package.json that only installs tools, count only if there is
    nothing else."""
    manifests = [project for project in projects_found if project.files and not _is_only_tools(project, inside)]
    return manifests or list(projects_found)


def _is_only_tools(project: Project, inside: Inside) -> bool:
    if project.language != "node" or project.build or project.test or project.start:
        return False
    manifest = json_table(inside(project.folder, "package.json"))
    return not any(name in manifest for name in ("dependencies", "main", "bin", "exports", "module", "workspaces"))


def _with_commands(project: Project, names: set[str], inside: Inside) -> tuple[Project, str]:
    """The project with its commands, and the reason for its test command or for having none; "" if no reason is
    needed."""
    if project.language == "python":
        commands = PythonCommands(project, names, inside)
        test, why = commands.test
        return replace(project, build=commands.build, test=test, start=commands.start), why
    if project.language == "node" and not project.test:
        test, why = _node_test(project, names, inside)
        return replace(project, test=project.within(test) if test else ""), why
    return project, ""


def _node_test(project: Project, names: set[str], inside: Inside) -> tuple[str, str]:
    tests = _node_tests(names)
    texts = [inside(project.folder, name) for name in tests[: python_commands.LOOKED]]
    if texts and all("node:test" in text for text in texts):
        typed = any(not name.endswith("js") for name in tests)  # then no command: not every Node runs TypeScript
        why = "its tests are in TypeScript, and package.json has no script that runs them"
        return ("", why) if typed else ("node --test", "")
    if texts and project.tool == "bun" and all("bun:test" in text for text in texts):
        return "bun test", ""
    return "", "package.json has no script for it"


def _node_tests(names: set[str]) -> list[str]:
    tests = (name for name in names if _NODE_TEST.fullmatch(name) and "node_modules/" not in name)
    return sorted(tests, key=lambda name: (name.count("/"), name))


def _with_command(kind: ProjectKind, step: str, projects_with_commands: Sequence[Project]) -> ProjectKind:
    """The kind with one command line for this step, joined from the commands of all projects. If they cannot be joined,
    the kind gets the reason instead."""
    commands = [command for project in projects_with_commands if (command := getattr(project, step))]
    if len(commands) > MOST or (step == "start" and len(commands) > 1):
        why = f"no {step} command: {len(commands)} projects have one of their own; say which in [commands]"
        return kind.model_copy(update={"why": (*kind.why, why)})
    return kind.model_copy(update={step: " && ".join(commands)})


def _with_make_targets(kind: ProjectKind, root: set[str], inside: Inside) -> ProjectKind:
    """The kind with missing commands taken from the targets of the root's Makefile."""
    file = makefile_of(root)
    targets = make_targets(inside(".", file) if file else "")
    for step, names in TARGETS.items():
        target = next((name for name in names if name in targets), "")
        if target and not getattr(kind, step):
            other_reasons = tuple(reason for reason in kind.why if not reason.startswith(f"no {step} command"))
            why = f"{step}: a target of {file}"
            kind = kind.model_copy(update={step: f"make {target}", "why": (*other_reasons, why)})
    return kind


def _manifest_paths(project: Project) -> str:
    files = project.files or ("its .py files",)
    return ", ".join(name if project.folder == "." else f"{project.folder}/{name}" for name in files[:3])


def _where(project: Project) -> str:
    return LANGUAGES[project.language] if project.folder == "." else project.folder
