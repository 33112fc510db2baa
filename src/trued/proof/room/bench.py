"""Bench: a clean room that is ready for checks. Fact: what one run of one check showed."""

import json
import os
import posixpath
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from trued.model import Network, Outcomes, Serve, Shot, Tried
from trued.proof.room import node
from trued.proof.room.browser_stage import BrowserStage
from trued.proof.room.coverage import CoverageOrder
from trued.proof.room.declared_packages import NO_PACKAGES, AddedPackages
from trued.proof.room.frozen_files import is_below
from trued.proof.room.interpreter import Interpreter
from trued.proof.room.services import run_with_services
from trued.proof.text.interpreter_lines import read_interpreter_line
from trued.proof.text.program_names import is_python
from trued.proof.text.python_imports import modules_asked
from trued.protocols import Command, CommandResult, Workspace
from trued.support.lazy_regex import lazy_regex
from trued.support.plain_text import unix_lines

PREPARED = ".virtualenvs/prepared"  # path below HOME at which the sandbox shows the environment of `prepare`
INSIDE = Path(__file__).parents[1] / "probes"
HEAD_CHARACTERS, TAIL_CHARACTERS = 4_000, 12_000  # kept of a long output; more from its end, where failures are printed
_CONTROLS = lazy_regex(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-Z\\-_]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_PARTS = lazy_regex(r"[\w./-]+")  # what may be the name of a module or file
_STARTING = ("-m", "-c", "-A", "--app", "--module")  # options whose value is what a program starts
_APPLICATION = lazy_regex(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*(\(.*\))?")  # as servers name it: `app.main:app`
_NO_MODULE = lazy_regex(r"No module named '?([A-Za-z_][\w.]*)'?")
# Describes how checks are run: what they find in a room, what they send to a server, how often they run. If you change
# how checks are run, change this text, too. Any new wording will do: results that were recorded with another text are
# not used again, so the checks run again.
ROOM = (
    "at the path of the user's repository, with a .git in the first run, and with all files of the commit for cases, "
    "but for the scripts that start the server, and in the second run for what Python loads at its start; "
    "requests like those of curl and of a script in a browser, with its language and encodings, "
    "the latter to `localhost` and on connections that are used again; answers that are not valid HTTP are refused; "
    "packages of Node and metadata in the folders of projects; "
    "a program of one project finds no modules of another that its code on the base does not import, itself or through "
    "code at the top and in `src`; a script finds the folders that a user's Python finds; "
    "a call ends with its interpreter, and a command line when nobody keeps its output open"
)


@dataclass(frozen=True, slots=True)
class Bench:
    """A clean room with everything in place: files frozen, interpreter chosen, variables set."""

    workspace: Workspace
    base: str
    commit: str  # checked out in the room
    room: Path
    interpreter: Interpreter
    roots: tuple[str, ...]  # absolute folders from which the project imports
    variables: Mapping[str, str]
    modules: frozenset[str]  # top-level modules that the project itself has, on the base or on this commit
    project_roots: tuple[str, ...] = ()  # those of `roots` that belong to the base's project folders
    # those of `roots` that Python finds for a user wherever a program starts (see `roots_found_everywhere`)
    roots_everywhere: frozenset[str] = frozenset()
    projects: Mapping[str, frozenset[str]] = field(default_factory=dict)  # see `roots_by_project`
    owners: Mapping[str, str] = field(default_factory=dict)  # module of the base → its import root in a project folder
    broken: str = ""  # why no check can run here: a preparation failed
    frozen: Mapping[str, str] = field(default_factory=dict)  # frozen file → its hash; restored before each check
    guarded: frozenset[str] = frozenset()  # frozen files that no run may change: code, and files that a check names
    settled: frozenset[str] = frozenset()  # test configuration of the ready room; what appears later is removed
    plain: Mapping[str, str] = field(default_factory=dict)  # variables for commands; PYTHONPATH only if the user asks
    serve: Serve | None = None  # the server for http and browser checks, from the contract, never from the head
    carried: Mapping[str, str] = field(default_factory=dict)  # files written over the checkout: path → base64
    held_out_files: Mapping[str, str] = field(default_factory=dict)  # held-out tests: path → base64
    folders: Mapping[str, frozenset[str]] = field(default_factory=dict)  # folder named by `from` → held-out tests in it
    # the environment that `prepare` filled, in which the head's code may have run; without `prepare`, the environment
    # with packages that only the commit declares; "" if there is neither
    prepared: str = ""
    site: tuple[str, ...] = ()  # package folders for the code under test; searched after those of the runner
    node_modules: tuple[str, ...] = ()  # folders with Node packages that the engine installed; linked into the room
    go: tuple[str, ...] = ()  # folder with Go's standard library, which the engine compiled
    services: tuple[Serve, ...] = ()  # started for checks that may use the loopback network
    stage: BrowserStage | None = None  # for tests that drive a page
    measuring: CoverageOrder | None = None  # measures coverage: figures for people, never evidence
    added: AddedPackages = NO_PACKAGES  # packages that only the commit declares
    second: bool = False  # this is the second turn, in other surroundings than the first
    mount_points: tuple[str, ...] = ()  # folders of the interpreter that are inside the user's repository
    repository: Path | None = None  # what cases and pages find as `.git` in their first turn
    # Files of which the room does not have the commit's version, and the folder with that version, which cases and
    # pages get.
    replaced: tuple[str, ...] = ()
    committed: Path = Path()
    superseded: tuple[str, ...] = ()  # those of `replaced` that the user's `supersedes` names
    words: frozenset[str] = frozenset()  # words of the requirements' texts
    folder: str = ""  # the folder of the room in which `execute` starts commands; "" is the room itself

    async def execute(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        stdin: bytes = b"",
        channel: bool = False,
        variables: Mapping[str, str] | None = None,
        network: Network = "none",
    ) -> CommandResult:
        """Run a command in this room, in the sandbox, and return how it ended. If the command has the loopback network,
        the services are started first. `channel`: give the command a pipe for its answers."""
        if self.folder:  # the sandbox itself always starts in the room
            argv = ("sh", "-c", 'cd -- "$0" && exec "$@"', self.folder, *argv)
        command = self.command(argv, within_s=within_s, variables=variables)
        command = replace(command, stdin=stdin, channel=channel, network=network)
        if self.services and network == "loopback":
            return self._with_own_paths(await run_with_services(self.workspace, command, self.services))
        return self._with_own_paths(await self.workspace.execute(command))

    def _with_own_paths(self, result: CommandResult) -> CommandResult:
        """The result, in which the room's own path replaces the path under which the command saw the room. Only whole
        paths are replaced: if the checkout is at `/app`, `backend/app/tests` stays."""
        own_path = os.fsencode(self.room)
        shown_paths = b"|".join(re.escape(os.fsencode(path)) for path in self.workspace.shown_at(self.room))
        if not shown_paths:
            return result
        whole = re.compile(rb"(?:(?<=file://)|(?<![\w./@+-]))(?:" + shown_paths + rb")(?![\w.@+-])")
        stdout, stderr, answers = (
            whole.sub(lambda _: own_path, stream) for stream in (result.stdout, result.stderr, result.answers)
        )
        return replace(result, stdout=stdout, stderr=stderr, answers=answers)

    def command(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        variables: Mapping[str, str] | None = None,
        probes: bool = True,
    ) -> Command:
        """A command for this room, with its folder, variables and the paths that the sandbox must show.

        `probes`: show the engine's own scripts. A process that runs the project's code for a held-out case must not see
        them.
        """
        return Command(
            argv=tuple(argv),
            folder=self.room,
            variables=self.variables if variables is None else variables,
            readable=(
                *self.interpreter.readable,
                *((str(INSIDE),) if probes else ()),
                *filter(None, [self.prepared, *self.node_modules, *self.go, self.added.environment]),
                *node.node_folders(),
                *(self.stage.readable if self.stage else ()),
                *(self.measuring.supplied.values() if self.measuring else ()),
            ),
            writable=(self.stage.folder,) if self.stage else (),
            aliases={**self.interpreter.aliases, **({self.prepared: PREPARED} if self.prepared else {})},
            # Do not show the room at a path to which an editable install leads: test runners would import the project's
            # code from there. This would not harm cases, because they run that code anyway. But after a preparation,
            # cases must see the room at the same path as the preparation, whose files may contain that path.
            avoided=self.interpreter.outside if probes or self.prepared else (),
            mount_points=self.mount_points,
            within_s=within_s,
            second=self.second,
        )

    def moved_to(self, room: Path) -> "Bench":
        """The same bench for an equal room at another path."""

        def moved(variables: Mapping[str, str]) -> dict[str, str]:
            return {name: value.replace(str(self.room), str(room)) for name, value in variables.items()}

        roots, projects = (
            tuple(folder.replace(str(self.room), str(room)) for folder in folders)
            for folders in (self.roots, self.project_roots)
        )
        return replace(
            self,
            room=room,
            roots=roots,
            project_roots=projects,
            roots_everywhere=frozenset(folder.replace(str(self.room), str(room)) for folder in self.roots_everywhere),
            variables=moved(self.variables),
            plain=moved(self.plain),
        )

    def script(self, name: str) -> tuple[str, ...]:
        """The start of a command line that runs one of the engine's own scripts in the project's interpreter."""
        start = (self.interpreter.path, "-I", "-B")
        if self.measuring is None:
            return (*start, str(INSIDE / name))
        return (*start, str(INSIDE / "covered.py"), self.measuring.settings(str(self.room)), str(INSIDE / name))

    @property
    def python(self) -> str:
        """The program for the word `python` in the user's command lines. Runners that count tests use `interpreter`
        instead."""
        return f"{self.prepared}/bin/python" if self.prepared else self.interpreter.path

    def started_in(self, folder: str) -> "Bench":
        """The same bench for commands that start in this folder. Python finds the folder's modules first, as it does
        for a program that is started there. It finds no modules of unrelated project folders."""
        if not folder:
            return self
        roots = self._roots_seen_from([folder])
        return replace(self, folder=folder, roots=(str(self.room / folder), *roots))

    def starting(self, words: Sequence[str]) -> "Bench":
        """The same bench for a case with this command line. PYTHONPATH has only the folders that a user would find.

        If the command line starts something in a project folder, Python finds only the modules that this project's
        programs find. The head cannot change that by code elsewhere, nor can the program's arguments."""
        near = self.calling(words)
        roots = near._roots_of_line(words)
        variables = {name: value for name, value in near.variables.items() if name != "PYTHONPATH"}
        ours = {"PYTHONPATH": ":".join(roots)} if roots else {}
        return replace(near, roots=roots, variables={**variables, **ours}) if near._has_own_path() else near

    def calling(self, words: Sequence[str]) -> "Bench":
        """The same bench for a case that uses the modules that these words name, perhaps in a project folder."""
        named = next(filter(None, map(self._places_named, words_that_start(words))), frozenset())
        if not named:
            return self
        roots = self._roots_seen_from(named)
        ours = {"PYTHONPATH": ":".join(roots)} if self._has_own_path() else {}
        return replace(self, roots=roots, variables={**self.variables, **ours})

    def _has_own_path(self) -> bool:
        """Whether PYTHONPATH is the engine's own, and not the user's."""
        return self.variables.get("PYTHONPATH", "") == ":".join(self.roots)

    def _roots_of_line(self, words: Sequence[str]) -> tuple[str, ...]:
        """The import roots that a user's Python finds in a program that this command line starts.

        With `-m` or `-c`, Python adds the top itself, and the folders in which the base has its modules count. Servers
        and the like that are given the name of a module (`app:main`) find it as they do for a user. A script finds only
        what every program finds, and its own folder.
        """
        everywhere = tuple(root for root in self.roots if root in self.roots_everywhere)
        started = read_interpreter_line(words)
        if started and is_python(posixpath.basename(words[0])) and started.kind in ("module", "code"):
            return tuple(root for root in self.roots if root != str(self.room) or root in everywhere)
        return self.roots if not started and any(names_of_applications(words)) else everywhere

    def _places_named(self, words: Collection[str]) -> frozenset[str]:
        """The project folders and import roots of the modules and files that these words name."""
        parts = [part for word in words for part in _PARTS.findall(word)]
        on_base = frozenset(place for place in map(self._place_on_base, parts) if place)
        return on_base or frozenset(place for place in map(self._place_of_new_module, parts) if place)

    def _place_on_base(self, part: str) -> str:
        """The project folder that contains `part` as a path, or else the import root of the base's module `part`. "" if
        there is neither."""
        path = posixpath.normpath(part)
        folder = next((project for project in self.projects if is_below(path, project)), "")
        return folder or ("" if "/" in part else self.owners.get(part.split(".")[0], ""))

    def _place_of_new_module(self, part: str) -> str:
        """The import root, in a project folder, that has the module `part` in this room; "" if there is none."""
        module = "" if "/" in part else part.split(".")[0]
        root = next((root for root in self.roots if module and has_module(Path(root), module)), "")
        return os.path.relpath(root, self.room) if root in self.project_roots else ""

    def _roots_seen_from(self, places: Collection[str]) -> tuple[str, ...]:
        """The import roots that programs in these folders find. A root of a project counts only if the project contains
        one of the folders, or lies in one. All other roots always count."""
        near = [
            roots
            for folder, roots in self.projects.items()
            if any(is_below(place, folder) or is_below(folder, place) for place in places)
        ]
        seen = {str(self.room / root) for roots in near for root in roots}
        return tuple(root for root in self.roots if root not in self.project_roots or root in seen)

    def from_folder(self, path: str) -> str:
        """This path of the room, seen from the folder in which commands start."""
        return os.path.relpath(path, self.folder) if self.folder else path

    def inside(self, paths: Iterable[str]) -> frozenset[str]:
        """Of these absolute paths, those that are inside the room, made relative to the room."""
        rooms = [f"{room}/" for room in (self.room, *self.workspace.shown_at(self.room))]
        inner_paths = (path.removeprefix(room) for path in paths for room in rooms if path.startswith(room))
        return frozenset(inner_paths)

    def foreign(self, text: str) -> str:
        """The third-party Python module that is missing according to this output; "" if there is none."""
        for name in reversed(_NO_MODULE.findall(text)):
            top = name.split(".")[0]
            if top not in self.modules and top not in self.interpreter.standard:
                return str(name)
        return ""

    def off_path(self, text: str) -> str:
        """The path, such as `src/shop`, of a module that is in the room, but that Python did not find according to this
        output. "" if there is none."""
        names = [str(name).split(".")[0] for name in reversed(_NO_MODULE.findall(text))]
        present = [(root, name) for name in names for root in self.roots if has_module(Path(root), name)]
        return os.path.relpath(f"{present[0][0]}/{present[0][1]}", self.room) if present else ""


def words_that_start(words: Sequence[str]) -> Iterator[Collection[str]]:
    """Groups of words of a command line that may name what it starts, the likeliest group first.

    The first group is the program. For Python, the next and last groups are the module, code or script that it starts.
    For any other program, the options are not known. Its second group has the words after `-m`, `-c` and options that
    name an application, and words like `module:name`. Then each further word is a group by itself.
    """
    yield words[:1]
    if not is_python(posixpath.basename(words[0] if words else "")):
        yield [*names_of_applications(words)]
        yield from ([word] for word in words[1:])
        return
    started = read_interpreter_line(words)
    if started and started.kind == "code":
        yield modules_asked(started.name)
    if started and started.kind in ("code", "module", "script"):
        yield [started.name]


def names_of_applications(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line after `-m`, `-c` and options that name an application, and words like
    `module:name`."""
    return (word for before, word in pairwise(words) if before in _STARTING or _APPLICATION.fullmatch(word))


def has_module(root: Path, name: str) -> bool:
    """Whether a module or package of this name is in the folder."""
    return (root / f"{name}.py").is_file() or (root / name / "__init__.py").is_file()


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """Which cases of a check to run, and how."""

    ids: tuple[str, ...] | None = None  # None: all cases of the check
    on_base: bool = False  # the code under test is the base's, which has no reason to forge results
    second: bool = False  # this is the second run: use another order than in the first
    red: tuple[str, ...] = ()  # ids that failed on the base: a head would forge these first
    # Id → how the case behaved on the base (`Tried.conduct`); None: the base's behaviour does not matter.
    conduct: Mapping[str, frozenset[str]] | None = None
    doubted: str = ""  # seed of a run in which these tests passed with other expected values, too; to be used again


@dataclass(frozen=True, slots=True)
class Fact:
    """What one execution of one check showed."""

    tried: tuple[Tried, ...]
    command: str
    exit_code: int | None = None
    output: str = ""
    seconds: float = 0.0
    isolation: str = ""
    void: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ran: frozenset[str] = frozenset()  # the project's own files that were loaded
    setting: str = ""  # how this run differed from the first one
    artifacts: Mapping[str, str] = field(default_factory=dict)  # name → hash of a file that is kept for people
    pictures: tuple[Shot, ...] = ()
    seed: str = ""  # of everything that was chosen at random


WHOLE_CHECK = "*"  # the id of a whole check whose cases are not known


def void_fact(why: str, outcome: Outcomes, kind: str, command: str = "") -> Fact:
    """A Fact with one result for all cases, for a check that could not be run."""
    return Fact((Tried(id=WHOLE_CHECK, outcome=outcome, kind=kind, detail=why),), command, void=why)


def unjudged_fact(why: str, kind: str, selection: CaseSelection) -> Fact:
    """The fact of a run in which the environment failed: no case passed or failed."""
    ids = selection.ids or (WHOLE_CHECK,)
    return Fact(
        tuple(Tried(id=test_id, outcome=Outcomes.UNJUDGED, kind=kind, detail=why) for test_id in ids), "", void=why
    )


def cap_output(*streams: bytes) -> str:
    """The output in a form for people, without control characters. If it is long, only its beginning and end are
    kept."""
    text = "\n".join(strip_controls(stream.decode("utf-8", "replace")) for stream in streams if stream)
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    cut = len(text) - HEAD_CHARACTERS - TAIL_CHARACTERS
    return f"{text[:HEAD_CHARACTERS]}\n… {cut} characters left out …\n{text[-TAIL_CHARACTERS:]}"


def strip_controls(text: str) -> str:
    """The text without control sequences and invisible characters, with plain line ends."""
    return _CONTROLS.sub("", unix_lines(text))


def keepable_text(text: str) -> str:
    """Text that a head wrote, made safe to store: encodable, without controls, at most 2,000 characters."""
    return strip_controls(text[:4000].encode("utf-8", "replace").decode())[:2000]


@cache
def probe_text(name: str) -> str:
    """The text of one of the engine's scripts that run inside the sandbox."""
    return (INSIDE / name).read_text(encoding="utf-8")


def nonce() -> str:
    """A random name that nobody can guess."""
    return secrets.token_hex(16)


def channel_records(answers: bytes, token: str) -> tuple[list[dict[str, Any]], bool]:
    """The records with the right nonce that a command wrote to its channel, and whether the command wrote anything else
    there."""
    records: list[dict[str, Any]] = []
    stray = False
    for line in answers.split(b"\n"):
        if not line:
            continue
        prefix, _, content = line.partition(b" ")
        try:
            record = json.loads(content) if prefix == token.encode() else None
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            stray = True
    return records, stray
