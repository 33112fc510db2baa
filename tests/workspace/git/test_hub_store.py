"""The store through which work travels: commits are fetched by hash, and neither refs nor hooks there matter."""

import asyncio
import subprocess
import threading
from base64 import b64encode
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from trued.errors import BadInput, StateFailed
from trued.workspace.git.hub_store import ANYBODY, HubStore, check_address
from trued.workspace.git.store import Store

QUICK = {"patience_s": 1.5, "silence_s": 1.0}


def git(place: Path, *words: str) -> str:
    who = ("-c", "user.name=user", "-c", "user.email=user@example.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    (made / "a.txt").write_text("a\n")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "base")
    return made


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    made = tmp_path / "store.git"
    subprocess.run(["git", "init", "-q", "--bare", str(made)], check=True)
    return made


def opened(place: Path, **more: float) -> HubStore:
    return HubStore(str(place), {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}, **{**QUICK, **more})


async def begun(repository: Path, home: Path) -> tuple[Store, str]:
    store, base = Store(repository, home, "r-one"), git(repository, "rev-parse", "HEAD")
    await store.begin(base)
    return store, base


async def empty(tmp_path: Path, base: str) -> Store:
    """The private repository of another machine, which does not have the user's repository."""
    store = Store(Path("/nonexistent/repo"), tmp_path / "other", "r-one")
    await store._create(base)
    return store


@pytest.mark.spec("HUB-6")
async def test_refs_are_made_once_and_what_counts_is_the_hash(tmp_path: Path, repository: Path, shared: Path) -> None:
    one, base = await begun(repository, tmp_path / "home")
    hub, ref = opened(shared), f"refs/trued/r-one/commit/{base}"
    await hub.push(one, [base])
    await hub.push(one, [base])  # once more, as after a crash
    assert await hub.refs("r-one") == {ref: base}
    (repository / "a.txt").write_text("b\n")
    git(repository, "commit", "-qam", "somebody else's")
    other = git(repository, "rev-parse", "HEAD")
    git(repository, "push", "-q", str(shared), f"+{other}:{ref}")  # somebody moves the ref, here to a descendant
    two = await empty(tmp_path, base)
    await hub.fetch(two, [base])
    assert (await two.refs("commit/"))[ref] == base  # fetched by its hash, although the ref names another commit
    with pytest.raises(StateFailed, match=f"somebody moved its ref {ref} to another commit"):
        await hub.push(one, [base])
    assert git(shared, "rev-parse", ref) == other  # our push did not move it back


@pytest.mark.spec("HUB-6")
async def test_a_commit_that_the_store_lost_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, repository: Path, shared: Path
) -> None:
    one, base = await begun(repository, tmp_path / "home")
    hub = opened(shared)
    await hub.push(one, [base])
    git(shared, "update-ref", "-d", f"refs/trued/r-one/commit/{base}")
    git(shared, "gc", "-q", "--prune=now")
    two = await empty(tmp_path, base)
    with pytest.raises(StateFailed, match=rf"it lacks {base[:12]}.*sends it again"):
        await hub.fetch(two, [base])
    assert await two.refs("") == {}
    await hub.push(one, [base])
    await hub.fetch(two, [base])
    assert await two.has_commit(base)


@pytest.mark.spec("HUB-4", "HUB-6")
async def test_a_store_that_is_away_is_waited_for_and_then_named(
    tmp_path: Path, repository: Path, shared: Path
) -> None:
    one, base = await begun(repository, tmp_path / "home")
    away = shared.with_name("away")
    shared.rename(away)
    slept = asyncio.create_task(opened(shared, patience_s=300.0).push(one, [base]))
    await asyncio.sleep(1.5)
    assert not slept.done()
    away.rename(shared)
    await slept
    assert list((await opened(shared).refs("r-one")).values()) == [base]
    shared.rename(away)
    with pytest.raises(StateFailed, match="no work is lost, resume later"):
        await opened(shared).refs("r-one")


@pytest.mark.spec("HUB-4", "HUB-6")
@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("export GIT_TEST_ASSUME_DIFFERENT_OWNER=1", "its folder belongs to another user.*safe.directory"),
        ("echo the disk is on fire >&2; exit 1", "tried for .*: the disk is on fire;"),
    ],
)
async def test_why_a_store_cannot_be_read_is_said_and_not_what_git_always_adds(
    tmp_path: Path, shared: Path, before: str, why: str
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\n{before}\nfor word; do last="$word"; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    variables = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "GIT_SSH_COMMAND": str(ssh)}
    with pytest.raises(StateFailed, match=why):
        await HubStore(f"ssh://git@host{shared}", variables, **QUICK).refs("r-one")


@pytest.mark.spec("HUB-4", "HUB-6")
async def test_a_store_that_works_on_what_it_got_is_not_asked_again_and_the_users_settings_for_pushes_do_not_count(
    tmp_path: Path, repository: Path, shared: Path
) -> None:
    one, base = await begun(repository, tmp_path / "home")
    asked, hook, ssh, own = tmp_path / "asked", shared / "hooks" / "pre-receive", tmp_path / "ssh", tmp_path / "config"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho once >>{asked}\nsleep 3\n")  # git is silent for three times as long as allowed
    # an ssh that runs the command on this machine
    ssh.write_text('#!/bin/sh\nfor word; do last="$word"; done\nexec sh -c "$last"\n')
    for program in (hook, ssh):
        program.chmod(0o755)
    own.write_text("[push]\n\tgpgSign = true\n\tpushOption = ci.skip\n")
    variables = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": str(own)}
    hub = HubStore(
        f"ssh://git@host{shared}", {**variables, "GIT_SSH_COMMAND": str(ssh)}, patience_s=120.0, silence_s=1.0
    )
    await hub.push(one, [base])
    assert asked.read_text().splitlines() == ["once"]
    assert list((await hub.refs("r-one")).values()) == [base]


@pytest.mark.spec("HUB-6", "LAW-4")
async def test_a_hostile_repository_runs_nothing_on_the_second_machine(
    tmp_path: Path, repository: Path, shared: Path
) -> None:
    ran = tmp_path / "ran"
    touch = f"touch {ran}"
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (repository / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "{touch}"\n')
    (repository / "hooks").mkdir()
    for name in ("post-checkout", "pre-push", "reference-transaction"):
        (repository / "hooks" / name).write_text(f"#!/bin/sh\n{touch}\n")
        (repository / "hooks" / name).chmod(0o755)
    base = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{base},x")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "hostile")
    git(repository, "config", "filter.evil.smudge", touch)
    git(repository, "config", "core.fsmonitor", touch)
    git(repository, "config", "core.hooksPath", str(repository / "hooks"))
    git(repository, "config", "core.sshCommand", touch)
    for hook in ("pre-receive", "update", "post-receive", "reference-transaction"):
        (shared / "hooks" / hook).parent.mkdir(exist_ok=True)
        (shared / "hooks" / hook).write_text(f"#!/bin/sh\n{touch}\n")
        (shared / "hooks" / hook).chmod(0o755)
    (shared / "objects" / "info" / "alternates").write_text(f"{tmp_path / 'nowhere'}\n")
    odd = "refs/trued/r-one/commit/$(touch${IFS}x)"
    git(repository, "push", "-q", "--receive-pack=git -c core.hooksPath=/dev/null receive-pack", "--no-verify",
        str(shared), f"{base}:{odd}")  # fmt: skip
    ran.unlink(missing_ok=True)  # the push above may have run the hook
    one, head = await begun(repository, tmp_path / "home")
    hub = opened(shared)
    await hub.push(one, [head])
    two = await empty(tmp_path, head)
    await hub.refs("r-one")
    await hub.fetch(two, [head])
    work = tmp_path / "work"
    work.mkdir()
    await two.check_out(head, work, tmp_path / "index")
    assert (work / "a.txt").read_text() == "a\n"
    assert not ran.exists()
    assert list(await two.refs("")) == [two.ref(f"commit/{head}")]  # only the commit that was asked for


@pytest.mark.spec("HUB-6", "HUB-7")
@pytest.mark.parametrize(
    "address", ["git://host/x.git", "http://host/x.git", "ext::sh -c x", "--upload-pack=x", "here"]
)
def test_an_address_that_needs_no_login_or_runs_something_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match="cannot be used as the hub's store"):
        check_address(address)


@pytest.mark.spec("HUB-7")
def test_a_login_in_the_address_is_shown_to_nobody() -> None:
    hub = HubStore("https://ann:only-for-tests@git.example.org/w.git", {"HOME": "/nonexistent"})
    assert hub.name == "https://git.example.org/w.git"
    assert hub.password == "only-for-tests"
    for good in ("ssh://git@host/w.git", "git@host:w.git", "/srv/w.git", "http://127.0.0.1:80/w.git"):
        check_address(good)


@pytest.mark.spec("HUB-7")
def test_keys_are_private_wherever_ssh_finds_them(tmp_path: Path) -> None:
    for name in ("home/.ssh/id_ed25519", "home/.ssh/id_ed25519.pub", "home/.ssh/config", "elsewhere/key"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a key\n")
    environ = {"HOME": str(tmp_path / "home"), "GIT_SSH_COMMAND": f"ssh -i {tmp_path / 'elsewhere' / 'key'}"}
    found = HubStore("ssh://git@host/w.git", environ).private_files()
    own = {path.relative_to(tmp_path).as_posix() for path in found if path.is_relative_to(tmp_path)}
    assert own == {"home/.ssh/id_ed25519", "elsewhere/key"}


@pytest.mark.spec("HUB-7")
@pytest.mark.parametrize("words", ["-i ~/keys/a", "-i '~/keys/a'", "-i{home}/keys/a", "-o IdentityFile={home}/keys/a"])
@pytest.mark.parametrize("is_in_settings", [False, True])
def test_a_key_that_a_command_names_is_private(tmp_path: Path, words: str, is_in_settings: bool) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/a").write_text("a key\n")
    command = f"ssh {words.format(home=tmp_path)}"
    (tmp_path / ".gitconfig").write_text(f'[core]\n\tsshCommand = "{command}"\n' if is_in_settings else "")
    environ = {"HOME": str(tmp_path), **({} if is_in_settings else {"GIT_SSH_COMMAND": command})}
    assert tmp_path / "keys/a" in HubStore("ssh://git@host/w.git", environ).private_files()


class PrivateStore(BaseHTTPRequestHandler):
    """A server that asks for a login, has no repository, and on request reads all command lines of this machine."""

    password: ClassVar = "only-for-this-test-7xk2p"
    login: ClassVar = f"Basic {b64encode(f'ann:{password}'.encode()).decode()}"
    logins: ClassVar[list[str]] = []
    telling: ClassVar[list[bytes]] = []

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        self.logins.append(login)
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                self.telling.extend(one for one in (line.read_bytes(),) if self.password.encode() in one)
        self.send_response(404 if login == self.login else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="store"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.mark.spec("HUB-7")
async def test_the_login_of_the_address_is_in_no_command_line_and_not_shown_to_who_has_none(tmp_path: Path) -> None:
    """At the sandbox level landlock, agents can read the command lines of all processes."""
    with ThreadingHTTPServer(("127.0.0.1", 0), PrivateStore) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://ann:{PrivateStore.password}@127.0.0.1:{server.server_port}/w.git"
        hub = HubStore(at, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, patience_s=1.5, silence_s=20.0)
        await hub.refuse_if_open()
        assert set(PrivateStore.logins) == {""}
        with pytest.raises(StateFailed, match="not found") as refused:
            await hub.refs("r-one")
        server.shutdown()
    assert set(PrivateStore.logins) == {"", PrivateStore.login}
    assert PrivateStore.telling == []
    assert PrivateStore.password not in str(refused.value)


@pytest.mark.spec("HUB-7")
def test_who_has_no_login_uses_no_connection_that_the_user_has_open(tmp_path: Path) -> None:
    """Otherwise a store that asks for a login would be taken for an open one, and refused."""
    own = tmp_path / "config"
    own.write_text("Host *\n  ControlMaster auto\n  ControlPath ~/.ssh/%C\n  GSSAPIAuthentication yes\n")
    said = subprocess.run([*ANYBODY.split(), "-F", str(own), "-G", "host"], check=True, capture_output=True, text=True)
    found = dict(line.partition(" ")[::2] for line in said.stdout.splitlines())
    assert (found["controlmaster"], found["preferredauthentications"]) == ("false", "none")
    assert found.get("controlpath", "none") == "none"
