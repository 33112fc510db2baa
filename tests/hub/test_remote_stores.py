"""The store by ssh and by https, for real: each machine gets in as its own git does."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.hub.machines import Beginning, Machine
from tests.hub.stores import PASSWORD, USER, HttpsServer, SshServer
from tests.hub.test_travel import Checked, in_store, killed_at
from tests.postgres import PostgresServer
from trued.errors import BadInput, StateFailed
from trued.workspace.git.hub_store import HubStore

pytestmark = [pytest.mark.slow, pytest.mark.spec("HUB-6", "HUB-7")]
PATH = "/usr/bin:/bin"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "git" / "work.git"
    subprocess.run(["git", "init", "-q", "--bare", str(made)], check=True)
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes", "http.receivepack"):
        subprocess.run(["git", f"--git-dir={made}", "config", name, "true"], check=True)
    return made


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[SshServer]:
    with closing(SshServer(tmp_path / "ssh")) as server:
        yield server


@pytest.fixture
def https(tmp_path: Path, work: Path) -> Iterator[HttpsServer]:
    with closing(HttpsServer(tmp_path / "https", work.parent)) as server:
        yield server


def by_ssh(server: SshServer, work: Path, one: Machine, two: Machine) -> None:
    """The first machine names its ssh in a variable, the second in git's own settings."""
    one.store = two.store = server.address(work)
    one.variables["GIT_SSH_COMMAND"] = server.command()
    (two.folder / ".gitconfig").write_text(f'[core]\n\tsshCommand = "{server.command()}"\n')


def by_https(server: HttpsServer, work: Path, one: Machine, two: Machine) -> None:
    """The first machine has the login in the address, the second in git's own store of logins."""
    one.store, two.store = server.address(work.name, f"{USER}:{PASSWORD}"), server.address(work.name)
    one.variables["GIT_SSL_CAINFO"] = str(server.authority)
    settings = f"[http]\n\tsslCAInfo = {server.authority}\n[credential]\n\thelper = store\n"
    (two.folder / ".gitconfig").write_text(settings)
    (two.folder / ".git-credentials").write_text(f"{server.address('', f'{USER}:{PASSWORD}')}\n")


@pytest.mark.spec("HUB-4")
@pytest.mark.parametrize("way", ["ssh", "https"])
def test_a_run_travels(
    way: str, request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer, work: Path
) -> None:
    hub = postgres.new_database()
    one, two = Beginning(Checked(tmp_path / "one").make(-1), hub, ""), Machine(tmp_path / "two", hub, "")
    server = request.getfixturevalue(way)
    (by_ssh if way == "ssh" else by_https)(server, work, one, two)
    run = killed_at(one, "purple-team-b")
    one.world.make_slow(0)
    resumed = two.command("resume", run)
    assert resumed.returncode == 0, resumed.stderr
    shown = two.data("show", run)
    assert (shown["state"], shown["grade"]) == ("done", "proven")
    assert in_store(work, shown["head"])
    one.wake()
    landed = one.command("land", run, here=one.world.repository)
    assert landed.returncode == 0, landed.stderr
    assert one.world.git("rev-parse", "main") == shown["head"]
    told = resumed.stderr + landed.stderr + (one.folder / "said").read_text()
    assert PASSWORD not in told
    assert not [one for one in tmp_path.rglob("runs/*/**/*") if one.is_file() and PASSWORD.encode() in one.read_bytes()]


async def test_an_https_store_that_lets_anybody_in_is_refused_whoever_signed_its_certificate(
    tmp_path: Path, work: Path
) -> None:
    """Agents do not have to check certificates: that the user's git knows the authority, and ours not, says nothing."""
    with ExitStack() as closed:
        found = {}
        for name, is_open in (("open", True), ("private", False)):
            server = closed.enter_context(closing(HttpsServer(tmp_path / name, work.parent, open_to_all=is_open)))
            (tmp_path / name / ".gitconfig").write_text(f"[http]\n\tsslCAInfo = {server.authority}\n")
            found[name] = HubStore(server.address(work.name), {"HOME": str(tmp_path / name), "PATH": PATH})
        with pytest.raises(BadInput, match="can be read without a login"):
            await found["open"].refuse_if_open()
        await found["private"].refuse_if_open()


async def test_an_ssh_store_that_asks_for_a_key_is_not_taken_for_an_open_one(ssh: SshServer, work: Path) -> None:
    known = {"HOME": "/nonexistent", "PATH": PATH, "GIT_SSH_COMMAND": ssh.command()}
    await HubStore(ssh.address(work), known).refuse_if_open()
    assert await HubStore(ssh.address(work), known).refs("r-one") == {}


async def test_who_is_not_whom_the_user_knows_is_refused_at_once(
    ssh: SshServer, https: HttpsServer, work: Path, tmp_path: Path
) -> None:
    """Another host key, another user's key, another authority: waiting would not help."""
    ssh.make_key("stranger")
    plain = {"HOME": str(tmp_path), "PATH": PATH}
    stranger = HubStore(ssh.address(work), {**plain, "GIT_SSH_COMMAND": ssh.command("stranger")})
    with pytest.raises(StateFailed, match="Permission denied"):
        await stranger.refs("r-one")
    ssh.known.write_text(ssh.known.read_text().replace((ssh.folder / "host.pub").read_text(),
                         (ssh.folder / "stranger.pub").read_text()))  # fmt: skip
    with pytest.raises(StateFailed, match="Host key verification failed"):
        await HubStore(ssh.address(work), {**plain, "GIT_SSH_COMMAND": ssh.command()}).refs("r-one")
    login = https.address(work.name, f"{USER}:{PASSWORD}")
    with pytest.raises(StateFailed, match="certificate"):
        await HubStore(login, plain).refs("r-one")
    wrong = https.address(work.name, f"{USER}:wrong")
    with pytest.raises(StateFailed, match="Authentication failed"):
        await HubStore(wrong, {**plain, "GIT_SSL_CAINFO": str(https.authority)}).refs("r-one")
