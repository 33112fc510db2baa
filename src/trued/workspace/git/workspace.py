"""GitWorkspace implements `Workspace` with git: a private store, clones for agents and clean rooms for checks."""

import asyncio
import hashlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from trued.errors import CannotJudge, StateFailed
from trued.protocols import AgentCommit, Command, CommandResult, MergeResult
from trued.support.idle_cores import idle_cores
from trued.wire import Confinement, ProcessLimits
from trued.workspace.git.clones import Clones
from trued.workspace.git.folder_copy import copy_tree
from trued.workspace.git.large_files import complete_checkout, files_of_submodules
from trued.workspace.git.merge import merge_commits
from trued.workspace.git.publish import publish
from trued.workspace.git.push import push
from trued.workspace.git.removal import remove_tree
from trued.workspace.git.shallow_clone import make_shallow_clone
from trued.workspace.git.store import ENGINE, LINK, CommitAuthor, Store
from trued.workspace.sandbox import cgroup
from trued.workspace.sandbox.agent_tool_folders import toolchain_folders, visible_path
from trued.workspace.sandbox.confined_command import confine, shown_as
from trued.workspace.sandbox.execution import CommandExit, ConfinedCommand, run_confined
from trued.workspace.sandbox.levels import BUBBLEWRAP, describe_isolation
from trued.workspace.sandbox.scope import can_scope
from trued.workspace.sandbox.server import SandboxServer, behind_forwarder
from trued.workspace.sandbox.surroundings import (
    OTHER_TEMPORARY,
    TEMPORARY,
    CheckSurroundings,
    describe_second_surroundings,
    free_ports,
    surroundings_for,
    usual_home,
    usual_place,
)
from trued.workspace.sandbox.surroundings import surroundings_variables as surroundings
from trued.workspace.sandbox.visible_folders import interpreter_folders

LOOPBACK = "loopback"
ROOMS, INDEX = "rooms", "index"
ALONE, CONNECTED = "x", "y"  # first letter of a command's folder: without and with the host's network
SIDE_BY_SIDE = 2  # idle cores that are needed to run two commands at once
# A brief load, such as the end of the last sandbox, should not keep two commands from running at once. So
# `can_run_side_by_side` waits for idle cores: for a share (PART_LOOKING) of the time that would be saved, but not
# longer than MOST_LOOKING_S, and looks again every BETWEEN_LOOKS_S.
PART_LOOKING, MOST_LOOKING_S, BETWEEN_LOOKS_S = 0.05, 2.0, 0.02
SET_UP_BYTES = 1 << 20  # a set-up that prints more bytes than this is stopped
_LOOK = 'if ( : < "$1" ) 2>/dev/null; then echo open; else echo shut; fi'


class GitWorkspace:
    """Where the agents of one run work and its checks run. `Workspace` documents the methods.

    `confinement`: the sandbox level, the agents' network, and what agents may see besides the system and the
    interpreter. Checks run at the same level; what a check may see, and its network, is in its `Command`. Call `begin`
    before anything else, and again after a restart.
    """

    def __init__(self, repo: Path, home: Path, run: str, branch: str, base: str, confinement: Confinement) -> None:
        self.repo, self.home, self.branch, self.base = repo, Path(os.path.realpath(home)), branch, base
        self.repository = os.path.realpath(repo)
        self.start = base  # where the work starts; callers set another commit for a run that continues a branch
        self.author = ""  # the author of all commits, as "Ada <ada@example.org>"; "": the role that did the work
        self.publishes = True  # False if the user's repository is on another machine
        self.kept: Path | None = None
        self.environments: Path | None = None
        self.idle_cores: Callable[[], int] = idle_cores
        self._lacking: dict[str, tuple[str, ...]] = {}
        self._inside: dict[frozenset[tuple[str, str]], dict[str, str]] = {}  # submodules → their files
        self._looking_inside = asyncio.Lock()
        # room → its path inside the sandbox, fixed by its first command: one path for commands with `avoided` folders
        # (True), and one for commands without (False)
        self._shown: dict[Path, dict[bool, str]] = {}
        self._copies: set[Path] = set()
        self.folder = self.home / "runs" / run
        self.store = Store(repo, self.home, run)
        # A branch outside trued/ is named after a ticket. Only then do agents see its name.
        options = {} if branch.startswith("trued/") else {"branch": branch}
        self.clones = Clones(self.store, self.folder / "clones", **options)
        self._publishing = asyncio.Lock()
        self._agents = replace(
            confinement,
            readable=(*interpreter_folders(sys.executable), *confinement.readable),
            hidden=(*confinement.hidden, str(self.home)),
            scoped=confinement.scoped and can_scope(),  # every order records this, so it must be true on this kernel
        )

    async def begin(self) -> None:
        """Copy the base into the store, and remove what a killed process left unfinished."""
        with _state_errors(self.folder):
            (self.folder / "rooms").mkdir(parents=True, exist_ok=True, mode=0o700)
            await self.store.begin(self.base)
            if self.start != self.base and not (self.store.travel and await self.store.has_commit(self.start)):
                await self.store.bring(await self.store.source(), self.start, "start")
            await self._sweep()
            cgroup.remove_stale_groups()

    def confinement(self) -> Confinement:
        return self._agents

    # -- clones -----------------------------------------------------------------------------------------------------

    async def clone(self, name: str, head: str, *, token: str) -> tuple[Path, Path]:
        with _state_errors(self.folder):
            clone = await self.clones.provide(clone_folder_name(name), head, token)
        return clone.work, clone.home

    async def commit_clone(
        self,
        name: str,
        head: str,
        *,
        author: str,
        message: str,
        when: float,
        fixed: Collection[str] = (),
        only: Collection[str] = (),
    ) -> AgentCommit:
        with _state_errors(self.folder):
            return await self.clones.take(
                clone_folder_name(name), head, CommitAuthor(author, when, self.author), message, fixed, only
            )

    async def execute_in_clone(self, name: str, argv: Sequence[str], *, within_s: float) -> CommandResult:
        """Run a command in a clone, confined like the clone's agent, except that it can also read toolchain folders on
        PATH."""
        clone = self.clones[clone_folder_name(name)]
        path, home = os.environ.get("PATH", os.defpath), os.environ.get("HOME", "/")
        tools = toolchain_folders(path, home)
        sight = replace(
            self._agents,
            readable=(*self._agents.readable, *tools),
            writable=(*self._agents.writable, str(clone.work), str(clone.home)),
        )
        seen = visible_path(path, (*sight.readable, str(clone.work))) if sight.level != "none" else path
        variables = {"HOME": str(clone.home), "PATH": seen}
        argv, environment = confine(argv, sight, folder=clone.work, variables=variables)
        reports = sight.level == BUBBLEWRAP
        launch = ConfinedCommand(argv, environment, str(clone.work), b"", within_s, SET_UP_BYTES, reports_exit=reports)
        marker = self._new_room_folder(sight.network)  # an empty folder, which only shows that a command is running
        try:
            marker.mkdir(parents=True, mode=0o700)
            ended = await _run_or_refuse(launch, channel=False)
        finally:
            await remove_tree(marker)
        return _result_of(ended, describe_isolation(sight.level, sight.network))

    async def drop_clone(self, name: str, why: str) -> None:
        with _state_errors(self.folder):
            await self.clones.drop(clone_folder_name(name), why)

    async def clean_up(self) -> None:
        for name in self.clones.names():
            await self.clones.drop(name, "the run has ended")
        await self._sweep()
        await remove_tree(self.folder / "clones")
        await remove_tree(self.folder / "rooms")

    async def _sweep(self) -> None:
        await remove_tree(self.folder / "gone")
        for index in self.folder.glob("index.*"):
            index.unlink(missing_ok=True)
        for room in (self.folder / "rooms").glob("*"):
            await remove_tree(room)

    # -- commits ----------------------------------------------------------------------------------------------------

    async def commit_files(self, head: str, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        return await self.store.commit_files(head, files, CommitAuthor(ENGINE, when, self.author), message, self.folder)

    async def commit_without_history(self, files: Mapping[str, bytes], *, message: str, when: float) -> str:
        return await self.store.commit_without_history(
            files, CommitAuthor(ENGINE, when, self.author), message, self.folder
        )

    async def is_known_commit(self, commit: str) -> bool:
        return await self.store.is_known_commit(commit)

    async def read(self, commit: str, path: str) -> bytes | None:
        content = await self.store.read(commit, path)
        if content is None and path in (inside := await self._files_of_submodules(commit)):
            return await self.store.read_blob(inside[path])
        return content

    async def read_all(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        names = list(paths)
        contents, inside = await self.store.read_all(commit, names), await self._files_of_submodules(commit)
        return contents | {path: await self.store.read_blob(inside[path]) for path in names if path in inside}

    async def tree(self, commit: str) -> str:
        return await self.store.tree(commit)

    async def changed_files(self, base: str, head: str) -> tuple[str, ...]:
        return await self.store.changed_files(base, head)

    async def blobs(self, commit: str) -> dict[str, str]:
        blobs = {path: blob for path, (_, blob) in (await self.store.entries(commit)).items()}
        return blobs | await self._files_of_submodules(commit)

    async def submodules(self, commit: str) -> dict[str, str]:
        return await self.store.links(commit)

    async def symbolic_links(self, commit: str) -> frozenset[str]:
        return frozenset(path for path, (mode, _) in (await self.store.entries(commit)).items() if mode == LINK)

    async def _files_of_submodules(self, commit: str) -> dict[str, str]:
        """Path → blob of the files that submodules add to a checkout of this commit. A submodule is checked out only if
        the base also has it and its commit is on this machine."""
        submodules = frozenset((await self.store.links(commit)).items())
        if not submodules:
            return {}
        async with self._looking_inside:
            if submodules not in self._inside:
                self._inside[submodules] = await files_of_submodules(self.store, self.base, commit)
            return self._inside[submodules]

    async def squash(
        self, head: str, onto: str, owned: Collection[str], *, author: str, message: str, when: float
    ) -> str:
        return await self.store.squash(head, onto, owned, CommitAuthor(author, when, self.author), message, self.folder)

    async def merge(self, ours: str, theirs: str, *, message: str, when: float) -> MergeResult:
        return await merge_commits(self.store, ours, theirs, CommitAuthor(ENGINE, when, self.author), message)

    async def publish(self, head: str, branch: str = "") -> str:
        """Fast-forward the run's branch, or `branch`, in the user's repository, and touch nothing else there. Returns
        "" or why that failed."""
        if not self.publishes:
            return ""  # `trued land` moves the branch, on the user's machine
        began = (self.base, self.start)
        async with self._publishing:
            return await publish(self.store, branch or self.branch, head, began=began, side=bool(branch))

    async def push(self, remote: str, commit: str, ref: str) -> str:
        return await push(self.repo, self.store.folder / "objects", remote, commit, ref)

    # -- evidence ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def room(self, commit: str) -> AsyncIterator[Path]:
        """Make a fresh checkout without `.git`, and remove it at the end of the `with` block."""
        room_folder = self.folder / "rooms" / secrets.token_hex(6)
        work = room_folder / "work"
        with _state_errors(self.folder):
            work.mkdir(parents=True, mode=0o700)
        try:
            await self.store.check_out(commit, work, room_folder / INDEX)
            self._lacking[commit] = await complete_checkout(
                self.store, self.base, commit, work, room_folder / "modules"
            )
            yield work
        finally:
            self._shown.pop(work, None)
            await remove_tree(room_folder)

    async def make_repository(self, room: Path, commit: str) -> Path:
        git_folder = room.parent / "repository"
        with _state_errors(self.folder):
            await make_shallow_clone(self.store, self.base, commit, room, room.parent / INDEX, git_folder)
        return git_folder

    @asynccontextmanager
    async def copy_of_room(self, room: Path) -> AsyncIterator[Path]:
        copy_folder = self.folder / "rooms" / secrets.token_hex(6)
        with _state_errors(self.folder):
            copy_folder.mkdir(parents=True, mode=0o700)
        try:
            await copy_tree(room, copy_folder / "work")
            self._copies.add(copy_folder / "work")
            yield copy_folder / "work"
        finally:
            self._copies.discard(copy_folder / "work")
            self._shown.pop(copy_folder / "work", None)
            await remove_tree(copy_folder)

    async def can_run_side_by_side(self, saving_s: float = 0.0) -> bool:
        if self._agents.level != BUBBLEWRAP:  # at other levels, commands share TCP ports, UDP and memory segments
            return False
        until = time.monotonic() + min(MOST_LOOKING_S, PART_LOOKING * saving_s)
        while await asyncio.to_thread(self.idle_cores) < SIDE_BY_SIDE:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(BETWEEN_LOOKS_S)
        return True

    def missing_content(self, commit: str) -> tuple[str, ...]:
        return self._lacking.get(commit, ())

    async def execute(self, command: Command) -> CommandResult:
        """Run a command in the sandbox, with the network that it asks for, and with a new HOME and TMPDIR."""
        room_folder = self._new_room_folder(command.network)
        chosen = surroundings_for(second=command.second)
        private_folders = {"HOME": room_folder / chosen.home, "TMPDIR": room_folder / chosen.scratch}
        with _state_errors(self.folder):
            for folder in private_folders.values():
                folder.mkdir(parents=True, mode=0o700)
            (room_folder / "hosts").write_text(chosen.hosts_text())
        folders = {name: str(path) for name, path in private_folders.items()}
        paths_inside = self._paths_inside(command, folders)
        aliases = {
            path: f"{paths_inside[folders['HOME']]}/{below}" for path, below in command.aliases.items() if paths_inside
        }
        if command.temporary:
            moved = command.temporary.rename(private_folders["TMPDIR"] / command.temporary.name)
            paths_inside = {**paths_inside, str(command.temporary): shown_as(str(moved), paths_inside)}
        chosen = replace(chosen, hosts=str(room_folder / "hosts"), paths_inside=paths_inside, aliases=aliases)
        try:
            return await self._execute_in(command, folders, chosen)
        finally:
            await remove_tree(room_folder)

    def _paths_inside(self, command: Command, private_folders: Mapping[str, str]) -> dict[str, str]:
        """Path on the host → path inside the sandbox: the clean room is shown at the path of the user's checkout, HOME
        and TMPDIR at usual paths. Empty if the sandbox cannot show folders at other paths."""
        if self._agents.level != BUBBLEWRAP:
            return {}
        seen = [*interpreter_folders(sys.executable), *command.readable, *command.writable]
        paths_inside = {
            private_folders["HOME"]: usual_home(seen, second=command.second),
            private_folders["TMPDIR"]: OTHER_TEMPORARY if command.second else TEMPORARY,
        }
        room = self._room_of(command.folder)
        if room.is_relative_to(self.folder / ROOMS):
            shown = self._shown.setdefault(room, {})
            if (kind := bool(command.avoided)) not in shown:
                others = [path for path in seen if path not in command.mount_points]
                avoided = [*others, *paths_inside.values(), *map(os.path.realpath, command.avoided)]
                shown[kind] = usual_place(self.repository, avoided, copy=room in self._copies)
            paths_inside[str(room)] = shown[kind]
        return paths_inside

    def shown_at(self, room: Path) -> tuple[str, ...]:
        return tuple(self._shown.get(room, {}).values())

    def _new_room_folder(self, network: str) -> Path:
        return self.folder / ROOMS / f"{CONNECTED if network == 'host' else ALONE}{secrets.token_hex(6)}"

    async def _execute_in(
        self, command: Command, private_folders: Mapping[str, str], chosen: CheckSurroundings
    ) -> CommandResult:
        ports = (*command.ports, *(free_ports() if command.network == LOOPBACK else ()))
        sight = Confinement(
            level=self._agents.level,
            readable=(*interpreter_folders(sys.executable), *command.readable),
            writable=(*private_folders.values(), str(self._room_of(command.folder)), *command.writable),
            # With `ports` no other network is needed: bubblewrap gives the command a loopback of its own, and Landlock
            # opens only these ports.
            network="none" if ports else command.network,
            ports=ports,
            hidden=self._agents.hidden,
            scoped=self._agents.scoped,
        )
        # A command gets the list of its ports if it asks for it, or if it can use no others (at every level but
        # bubblewrap). Otherwise it gets none, because the list would reveal to a server that it is being checked.
        shows_ports = ports and (command.lists_ports or self._agents.level != BUBBLEWRAP)
        listed = {"TRUED_PORTS": " ".join(map(str, ports))} if shows_ports else {}
        variables = {**private_folders, **surroundings(second=command.second), **listed, **(command.variables or {})}
        limits = ProcessLimits(memory_bytes=command.memory_bytes, processes=command.processes)
        moved = MovedText({**chosen.paths_inside, **chosen.aliases})
        variables = {name: moved(value) for name, value in variables.items()}
        argv, environment = confine(
            [moved(word) for word in command.argv],
            sight,
            folder=command.folder,
            variables=variables,
            limits=limits,
            setting=chosen,
        )
        ended = await _run_or_refuse(
            ConfinedCommand(
                argv=argv,
                environment=environment,
                folder=str(command.folder),
                stdin=moved.content(command.stdin),
                within_s=command.within_s,
                output_bytes=command.output_bytes,
                reports_exit=sight.level == BUBBLEWRAP,
                processes=command.processes,
                memory_bytes=command.memory_bytes,
            ),
            channel=command.channel,
            inherited=tuple(command.inherited),
        )
        return _result_of(ended, describe_isolation(sight.level, command.network))

    @asynccontextmanager
    async def serve(self, command: Command, port_env: str) -> AsyncIterator[SandboxServer]:
        """Run a command in the sandbox, as a server, until the end of the `with` block."""
        served = SandboxServer(describe_isolation(self._agents.level))
        served.begin(self.execute(behind_forwarder(command, port_env, served)))
        try:
            yield served
        finally:
            await served.end()

    async def save_artifact(self, content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        file = self.folder / "artifacts" / name
        with _state_errors(self.folder):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_bytes(content)
        return name

    async def load_artifact(self, name: str) -> bytes | None:
        file = self.folder / "artifacts" / name
        if not re.fullmatch(r"[0-9a-f]{64}", name) or not file.is_file():
            return None
        content = await asyncio.to_thread(file.read_bytes)
        return content if hashlib.sha256(content).hexdigest() == name else None

    def describe_second_surroundings(self) -> str:
        return describe_second_surroundings(self._agents.level)

    def _room_of(self, folder: Path) -> Path:
        """The room that contains this folder; the folder itself if it is in no room. A command may write to its whole
        room, not only to the folder in which it starts."""
        rooms = self.folder / "rooms"
        real = Path(os.path.realpath(folder))
        return rooms.joinpath(*real.relative_to(rooms).parts[:2]) if real.is_relative_to(rooms) else folder

    async def can_agents_read(self, path: Path) -> bool:
        room_folder = self.folder / "rooms" / f"p{secrets.token_hex(6)}"
        room_folder.mkdir(parents=True, mode=0o700)
        look = ["/bin/sh", "-c", _LOOK, "sh", str(path.absolute())]
        try:
            argv, environment = confine(look, self._agents, folder=room_folder, variables={"HOME": str(room_folder)})
            launch = ConfinedCommand(
                argv, environment, str(room_folder), b"", 60.0, 1 << 16, reports_exit=self._agents.level == BUBBLEWRAP
            )
            ended = await _run_or_refuse(launch, channel=False)
        finally:
            await remove_tree(room_folder)
        answer = bytes(ended.output.stdout).decode(errors="replace").strip()
        if answer not in ("open", "shut"):
            complaint = bytes(ended.output.stderr).decode(errors="replace").strip()
            raise CannotJudge(f"the agents' sandbox did not start: {complaint or 'no message'}")
        return answer == "open"


class MovedText:
    """Replaces paths of the host by the paths that a command sees, in texts and in bytes. The host's paths contain
    random names, so no other text is replaced by accident."""

    def __init__(self, paths_inside: Mapping[str, str]) -> None:
        spelled = {form: inside for path, inside in paths_inside.items() for form in (path, json.dumps(path)[1:-1])}
        self._pairs = sorted(spelled.items(), key=lambda pair: -len(pair[0]))

    def __call__(self, text: str) -> str:
        for path, inside in self._pairs:
            text = text.replace(path, inside)
        return text

    def content(self, content: bytes) -> bytes:
        """The content, such as that of a file, with the host's paths replaced."""
        for path, inside in self._pairs:
            content = content.replace(os.fsencode(path), os.fsencode(inside))
        return content


@contextmanager
def _state_errors(folder: Path) -> Iterator[None]:
    """Turn an OSError on private state into a StateFailed with one sentence."""
    try:
        yield
    except OSError as error:
        where, why = error.filename or folder, error.strerror or error
        raise StateFailed(f"cannot write {where}: {why}; free space or make the folder writable") from error


def _result_of(ended: CommandExit, isolation: str) -> CommandResult:
    out = ended.output
    return CommandResult(
        exit_code=ended.code,
        stdout=bytes(out.stdout),
        stderr=bytes(out.stderr),
        answers=bytes(out.answers),
        seconds=ended.seconds,
        timed_out=ended.timed_out,
        flooded=out.flooded,
        isolation=isolation,
    )


async def _run_or_refuse(launch: ConfinedCommand, *, channel: bool, inherited: tuple[int, ...] = ()) -> CommandExit:
    """Run the command. Raises CannotJudge if the sandbox did not start, because that says nothing about the command."""
    ended = await run_confined(launch, channel=channel, inherited=inherited)
    if not ended.started and ended.code is not None:
        complaint = bytes(ended.output.stderr[:2000]).decode(errors="replace").strip()
        raise CannotJudge(f"the sandbox did not start: {complaint}")
    return ended


def clone_folder_name(name: str) -> str:
    """The clone's name, if it is safe as a folder and in a ref; otherwise a safe name that is unique to it.

    This differs from `support.hashing.folder_name`, which always adds a hash. Neither function may change, because
    existing folders have these names.
    """
    if (
        re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", name)
        and ".." not in name
        and not name.endswith((".", ".lock"))
    ):
        return name
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"
