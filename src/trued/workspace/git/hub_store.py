"""HubStore: the bare repository through which machines exchange commits, by ssh, https or a path.

Everything is identified by its hash. A commit is pushed to refs/trued/<run>/commit/<hash>, a ref that is created once
and never moved. Commits are fetched by hash, so it does no harm if a ref is moved, replaced or deleted.
"""

import asyncio
import os
import pwd
import re
import shlex
import subprocess
import time
from asyncio.subprocess import Process
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from trued.errors import BadInput, StateFailed
from trued.support.lazy_regex import lazy_regex
from trued.workspace.git.command import SETTINGS, SYNCED, end_process, git_command
from trued.workspace.sandbox.process_start import start_process

if TYPE_CHECKING:
    from trued.workspace.git.store import Store

PATIENCE_S = 300.0  # how long to retry while the store does not answer: as long as for a hub's database
SILENCE_S = 10.0  # a git that prints nothing for this long is ended and started again; it has no timeout of its own
AGAIN_S = 1.0  # pause before a retry
# git prints this when all objects are transferred, so the store is reachable. After that, git may process the objects
# of a large repository for minutes, on this or the other machine, without printing anything.
_WENT_OVER = lazy_regex(rb"(?:Writing|Receiving) objects: 100%")
PER_CALL = 200  # commits on one command line, so that it stays far below the kernel's limit
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=2"
# ssh without a login: no key, ticket or password, and no reuse of a connection that the user has open. The identity of
# the host is not checked, because an agent would not check it either.
ANYBODY = (
    f"{SSH} -o PreferredAuthentications=none -o ControlMaster=no -o ControlPath=none"
    " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
)
NOBODY = {
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_SSL_NO_VERIFY": "1",
    "GIT_SSH_COMMAND": ANYBODY,
}
LOGINS = (".netrc", ".git-credentials", ".config/git/credentials")  # where git and curl look for a login
# Turns off the user's settings for pushes. A store that does not support them would refuse every push.
_PLAIN_PUSH = ("push.gpgSign=false", "push.pushOption=", "push.negotiate=false")
_KEPT = ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL")
# A credential helper that gives git the login in the store's address. If the login were on git's command line, every
# user of the machine could read it.
_LOGIN = '!f() { printf "username=%s\\npassword=%s\\n" "$TRUED_STORE_USER" "$TRUED_STORE_PASSWORD"; }; f'
_SCP = lazy_regex(r"(?:[\w.-]+@)?[\w.-]+:(?!//)[^\s]+")
# git's messages when the store refuses. A retry would get the same answer.
_REFUSED = lazy_regex(
    r"not our ref|rejected|shallow update|Permission denied|"
    r"Authentication failed|could not read Username|Host key verification|no matching host key|prohibited|"
    r"certificate|unable to find|repository .* not found|bad object|fsck|missing necessary objects|dubious ownership",
    re.IGNORECASE,
)
# What git prints after the real reason, whatever that was.
_ALWAYS_PRINTED = lazy_regex(
    r"fatal: Could not read from remote|Please make sure you have the correct access|and the repository exists"
)


def check_address(address: str) -> None:
    """Raise BadInput unless the address is an absolute path, an ssh or https address, or http to this machine."""
    parts = urlsplit(address) if "://" in address else None
    if parts and parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"):
        return
    if parts and (parts.scheme in ("ssh", "https") and parts.hostname):
        return
    if not parts and not address.startswith("-") and (Path(address).is_absolute() or _SCP.fullmatch(address)):
        return
    what = f"{printable_address(address)} cannot be used as the hub's store"
    raise BadInput(what, "[hub] store", "use a bare repository: ssh://…, https://…, or its absolute path")


def printable_address(address: str) -> str:
    """The address in a form for people, without a login and without control characters."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", "".join(character for character in address if character.isprintable()))


def _without_login(address: str) -> str:
    """The address that git gets: without user and password if it is an http(s) address with a password, else
    unchanged."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.password:
        return address
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _identity_files(command: str, home: Path) -> list[Path]:
    """The private keys in a command line of ssh: `-i KEY`, `-iKEY`, `-o IdentityFile=KEY`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    keys = [key for option, key in pairwise(words) if option == "-i"]
    keys += [word[2:] for word in words if word.startswith("-i") and word != "-i"]
    keys += [
        match[1] for word in words if (match := re.fullmatch(r"(?:-o)?identityfile[= ]\s*(.+)", word, re.IGNORECASE))
    ]
    return [home / key.removeprefix("~/") for key in keys]


def _account_home() -> tuple[Path, ...]:
    """The home folder of this process's account; nothing if it has no account."""
    try:
        return (Path(pwd.getpwuid(os.getuid()).pw_dir),)
    except KeyError:
        return ()


class HubStore:
    """One bare repository, as this machine reaches it. Every call is retried while the store does not answer."""

    def __init__(
        self,
        address: str,
        environ: Mapping[str, str],
        *,
        patience_s: float = PATIENCE_S,
        silence_s: float = SILENCE_S,
    ) -> None:
        """Raises BadInput for an address that `check_address` refuses."""
        check_address(address)
        self.address, self.name = address, printable_address(address)
        self._named = _without_login(address)  # the address that git gets
        self.patience_s, self.silence_s = patience_s, silence_s
        self._environ = environ
        self._own_ssh: str | None = None  # the ssh that the user's git starts; None: not looked up yet

    @property
    def folder(self) -> Path | None:
        """The store's folder if it is on this machine; else None."""
        return Path(self.address) if "://" not in self.address and Path(self.address).is_absolute() else None

    @property
    def password(self) -> str:
        """The password in the address; "" if there is none."""
        return (urlsplit(self.address).password or "") if "://" in self.address else ""

    def private_files(self) -> tuple[Path, ...]:
        """Files that give access to the store. Agents may not see them."""
        if self.folder:
            return (self.folder / "HEAD",)
        home = Path(self._environ.get("HOME") or Path.home())
        homes = dict.fromkeys((home, *_account_home()))  # both: ssh uses the account's home folder, not HOME
        keys = (
            key for folder in homes for key in (folder / ".ssh").glob("*") if key.name not in ("known_hosts", "config")
        )
        configured = _identity_files(self._environ.get("GIT_SSH_COMMAND", "") or self._ssh_in_settings(), home)
        named = (*(home / name for name in LOGINS), *(key for key in keys if key.suffix != ".pub"), *configured)
        return tuple(path for path in named if path.is_file())

    def _ssh_in_settings(self) -> str:
        """`core.sshCommand` in the settings of the user and the machine; "" if it is not set. A repository's own
        setting does not count."""
        if self.address.startswith("http"):
            return ""
        command = git_command(["--git-dir=/nonexistent", "config", "--get", "core.sshCommand"])
        done = subprocess.run(command, env=self._variables({}), capture_output=True, check=False)
        return done.stdout.decode(errors="replace").strip()

    async def refuse_if_open(self) -> None:
        """Raise BadInput if the store can be read without a login, because then agents could read it despite their
        sandbox."""
        if self.folder:
            return  # a folder of this machine: the sandbox hides it, and every run checks that
        bare = re.sub(r"(?<=://)[^/@\s]+@", "", self.address) if self.address.startswith("http") else self.address
        code, _, _ = await self._run_git(("ls-remote", "--heads", "--", bare), NOBODY)
        if code == 0:
            what = f"the store {self.name} can be read without a login, so agents could read it"
            raise BadInput(what, "[hub] store", "require a login for the store")

    async def refs(self, run: str) -> dict[str, str]:
        """Ref → hash, for the refs that the store lists for a run. A wrong list does no harm, because commits are
        fetched by hash.

        Raises StateFailed if the store does not answer or refuses.
        """
        out = await self._run_with_retries(("ls-remote", "--", self._named, f"refs/trued/{run}/commit/*"), "read")
        pairs = (line.split("\t", 1) for line in out.splitlines() if "\t" in line)
        return {name: commit for commit, name in pairs}

    async def push(self, local: "Store", commits: Iterable[str]) -> None:
        """Push commits of the local store, each to a ref whose name contains the commit's hash. Existing refs stay as
        they are. Raises StateFailed if a ref is at another commit than its name says."""
        wanted = sorted(set(commits))
        for some in (wanted[start : start + PER_CALL] for start in range(0, len(wanted), PER_CALL)):
            names = [local.ref(f"commit/{commit}") for commit in some]
            once = [f"--force-with-lease={name}:" for name in names]  # create the ref, never move it
            options = ("--receive-pack=git -c core.hooksPath=/dev/null receive-pack",) if self.folder else ()
            arguments = (
                "push",
                "--progress",
                "--no-follow-tags",
                "--no-verify",
                "--recurse-submodules=no",
                *options,
                *once,
            )
            refs = [f"{commit}:{name}" for commit, name in zip(some, names, strict=True)]
            await self._run_with_retries((*arguments, "--", self._named, *refs), "push to", local)

    async def fetch(self, local: "Store", commits: Iterable[str]) -> None:
        """Fetch commits by hash, to refs of the local store. Git refuses an object whose hash is not the requested one.
        Raises StateFailed if the hub's store lacks a commit."""
        wanted = sorted(set(commits))
        quiet = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        for some in (wanted[start : start + PER_CALL] for start in range(0, len(wanted), PER_CALL)):
            refs = [f"+{commit}:{local.ref(f'commit/{commit}')}" for commit in some]
            await self._run_with_retries(("fetch", "--progress", *quiet, "--", self._named, *refs), "fetch from", local)

    # -- git over the network ------------------------------------------------------------------------------------------

    async def _run_with_retries(self, arguments: Sequence[str], doing: str, local: "Store | None" = None) -> str:
        """Run git and return its output; retry while the store does not answer, for at most `patience_s`. Raises
        StateFailed after that time, or if the store refuses."""
        until, may_begin_again = time.monotonic() + self.patience_s, True
        silence_s = self.silence_s
        while True:
            code, out, stderr = await self._run_git(arguments, local=local, silence_s=silence_s)
            if code == 0:
                return out
            why = _last(stderr)
            if code is None and may_begin_again and _WENT_OVER.search(stderr.encode()):
                # The store did answer, so the time limit for retries starts anew, but only once.
                until, may_begin_again = time.monotonic() + self.patience_s, False
            if code is not None and _REFUSED.search(stderr):
                raise StateFailed(f"cannot {doing} the store {self.name}: {_sentence(stderr)}")
            if time.monotonic() + AGAIN_S > until:
                waited = f"{self.patience_s:g} s"
                raise StateFailed(
                    f"cannot {doing} the store {self.name}, tried for {waited}: {why}; no work is lost, resume later"
                )
            silence_s = min(2 * silence_s, max(self.patience_s, silence_s))  # wait longer: the store might be slow
            await asyncio.sleep(AGAIN_S)

    async def _run_git(
        self,
        arguments: Sequence[str],
        more: Mapping[str, str] | None = None,
        *,
        local: "Store | None" = None,
        silence_s: float = 0.0,
    ) -> tuple[int | None, str, str]:
        """Run git once; return exit code (None: it printed nothing for too long), output and stderr."""
        repository = (f"--git-dir={local.folder}",) if local else ()
        settings: tuple[str, ...] = (*SYNCED, *_PLAIN_PUSH, "protocol.version=2", "credential.interactive=false")
        settings += ("core.askPass=",)
        if self.password and not more:
            settings += ("credential.helper=", f"credential.helper={_LOGIN}")
        login = more or {**self._login(), "GIT_SSH_COMMAND": await self._ssh()}
        with local.git.shared_lock() if local else nullcontext(()) as handles:
            process = await start_process(
                *git_command([*repository, *arguments], settings, always=SETTINGS),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._variables(login),
                cwd=local.folder if local else None,
                pass_fds=handles,
            )
        try:
            return await _read_output(process, silence_s or self.silence_s, self.patience_s)
        finally:
            await end_process(process)

    def _login(self) -> dict[str, str]:
        """User and password of the address as environment variables, which the credential helper `_LOGIN` reads. Empty
        if the address has no password."""
        if not self.password:
            return {}
        user = urlsplit(self.address).username or ""
        return {"TRUED_STORE_USER": unquote(user), "TRUED_STORE_PASSWORD": unquote(self.password)}

    async def _ssh(self) -> str:
        """The ssh command that the user's own git would start, without prompts; `SSH` if the user has set none."""
        if self._own_ssh is None and (self.folder or self.address.startswith("http")):
            self._own_ssh = ""  # not looked up, because ssh is not used
        elif self._own_ssh is None:
            self._own_ssh = self._environ.get("GIT_SSH_COMMAND", "") or await asyncio.to_thread(self._ssh_in_settings)
        return f"{self._own_ssh} -o BatchMode=yes" if self._own_ssh else SSH

    def _variables(self, more: Mapping[str, str]) -> dict[str, str]:
        """Git's environment: the user's, so that the user's logins work, but without most of the GIT_… variables. Git
        and ssh ask nothing."""
        inherited = {
            name: value for name, value in self._environ.items() if not name.startswith("GIT_") or name in _KEPT
        }
        return {
            "PATH": os.defpath,
            **inherited,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "LC_ALL": "C",
            **more,
        }


async def _read_output(process: Process, silence_s: float, at_the_end_s: float) -> tuple[int | None, str, str]:
    """Read git's output until it ends. Returns exit code, output and stderr. The code is None if git printed nothing
    for too long: for `silence_s`, or for `at_the_end_s` after all objects were transferred."""
    assert process.stdout  # noqa: S101  (both are pipes)
    assert process.stderr  # noqa: S101
    out, stderr = bytearray(), bytearray()

    async def read(stream: asyncio.StreamReader, into: bytearray) -> None:
        while piece := await stream.read(1 << 16):
            into += piece

    reading = {asyncio.create_task(read(process.stdout, out)), asyncio.create_task(read(process.stderr, stderr))}
    try:
        while True:
            before = len(out) + len(stderr)
            most_s = max(silence_s, at_the_end_s) if _WENT_OVER.search(stderr) else silence_s
            _, unfinished = await asyncio.wait(reading, timeout=most_s)
            if not unfinished:
                break
            if len(out) + len(stderr) == before:
                return None, "", f"{stderr.decode(errors='replace')}\nno answer within {most_s:g} s"
    finally:
        for task in reading:
            task.cancel()
    return await process.wait(), out.decode(errors="replace"), stderr.decode(errors="replace")


def _message_lines(stderr: str) -> list[str]:
    """Git's messages in a form for people, without progress, logins and control characters."""
    lines = [printable_address(line).strip() for line in re.split(r"[\r\n]+", stderr)]
    shown = [line for line in lines if line and not re.match(r"(?:remote: )?[A-Z][\w ]+:\s+\d+%|hint:|To |From ", line)]
    return [line for line in shown if not _ALWAYS_PRINTED.match(line)] or shown


def _sentence(stderr: str) -> str:
    """Why the store refused: for three known errors a sentence of our own, with what to do; otherwise git's line."""
    lines = _message_lines(stderr)
    if moved := next((line for line in lines if "stale info" in line), ""):
        name = moved.rpartition("->")[2].split("(")[0].strip()
        return f"somebody moved its ref {name} to another commit; delete that ref there, and resume"
    if lost := next((line for line in lines if "not our ref" in line), ""):
        name = lost.rpartition(" ")[2][:12]
        return f"it lacks {name}, which another machine made; `trued resume` on that machine sends it again"
    if any("dubious ownership" in line for line in lines):
        allow = "git config --global --add safe.directory FOLDER"
        return f"its folder belongs to another user; use that user's login, or allow it there: `{allow}`"
    return next((line for line in lines if _REFUSED.search(line)), _last(stderr))


def _last(stderr: str) -> str:
    return (_message_lines(stderr) or ["no message"])[-1]
