"""Attacks by hostile tickets, agents and forges on the ticket workflow, and how they end."""

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.forges.servers import TOKEN, github_server
from tests.workflows.conftest import Ground
from tests.workflows.ticket.test_ticket import REQUIRED, TICKET, WHOLE, implemented, script
from trued.engine.inputs import Request
from trued.engine.pull_request_body import PullRequestWork, title_of
from trued.engine.ticket_branch import ticket_from_file, ticket_from_tracker
from trued.errors import BadInput
from trued.integrations.forges.local import LocalForge
from trued.model import ForgeSettings, Goal, RunRecord, Settings, Source, Ticket, Verdict
from trued.protocols import PullRequestProposal
from trued.wire import Order
from trued.workflows.ticket.verifier_preview import _why_unreachable

SECRETS = "It is wrong.\n\n![a](/etc/shadow)\n![b](/)\n![c](docs/seen.png)\n\n## Screenshots\n\n- ![](/etc/hosts.png)\n"


@pytest.mark.spec("USE-6", "TIC-1")
def test_an_issue_gives_no_agent_a_file_of_this_machine(tmp_path: Path) -> None:
    with github_server(None) as github:
        github.issue(12, "Numbers", SECRETS)
        forge = ForgeSettings(kind="github", repository="acme/shop", url=github.url)
        ticket = ticket_from_tracker("#12", Settings(forge=forge), {"GITHUB_TOKEN": TOKEN}, tmp_path)
    assert ticket.pictures == ("docs/seen.png",)


@pytest.mark.spec("USE-6", "TIC-1")
def test_a_picture_of_a_file_is_a_picture_and_no_link_to_something_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (tmp_path / "real.png").write_bytes(b"\x89PNG")
    (tmp_path / "linked.png").symlink_to(tmp_path / "secret")
    (tmp_path / "round.png").symlink_to(tmp_path / "round.png")
    names = f"{tmp_path}/secret, /, linked.png, round.png, {tmp_path}/real.png, https://example.invalid/x.png"
    text = f"---\nkey: A-1\npictures: [{names}]\n---\n# Numbers\n\nThey are wrong.\n"
    ticket = ticket_from_file(Goal(text=text, source=Source(file="ticket.md", line=1)), tmp_path)
    given = [one for one in ticket.pictures if Path(one).is_absolute()]
    assert given == [str((tmp_path / "real.png").resolve())]


@contextmanager
def answering(words: bytes) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            caller, _ = server.accept()
            with caller:
                caller.recv(1000)
                caller.sendall(words)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join(20)


@pytest.mark.spec("USE-7", "TIC-5")
@pytest.mark.parametrize("words", [b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n"])
def test_a_preview_elsewhere_that_answers_nonsense_is_one_sentence(words: bytes) -> None:
    with answering(words) as url:
        assert _why_unreachable(url) == "no web server answers there"


@pytest.mark.spec("USE-7", "TIC-5")
@pytest.mark.parametrize("url", ["http://127.0.0.1:abc/", "http://[::1/", "http://127.0.0.1:9/a\x01b", "file:///etc"])
def test_an_address_of_a_preview_that_is_none_is_one_sentence(url: str) -> None:
    assert _why_unreachable(url)


@pytest.fixture
def desk(ground: Ground) -> Ground:
    ground.require([REQUIRED])
    return ground


async def worked(desk: Ground, ticket: str, name: str = "ticket.md") -> RunRecord:
    (desk.folder / name).write_text(ticket)
    engine, _ = desk.engine(script(impl=lambda order: implemented(order, WHOLE)))
    return await desk.run(engine, str(desk.folder / name))


@pytest.mark.spec("TIC-3", "TIC-9")
@pytest.mark.slow
async def test_tickets_whose_letters_no_branch_can_have_do_not_share_one(desk: Ground) -> None:
    first, second = [
        await worked(desk, TICKET.replace("NUM-7", key).replace("# Numbers are not doubled", f"# {key}"), f"{key}.md")
        for key in ("注文", "返品")
    ]
    assert (first.branch, second.branch) == ("fix/ticket", "fix/ticket-2")
    assert first.base == second.base


@pytest.mark.spec("TIC-3", "USE-7")
async def test_a_branch_in_the_way_of_the_tickets_own_is_said_before_anybody_works(desk: Ground) -> None:
    desk.git("branch", "fix")
    with pytest.raises(BadInput, match="there is a branch fix in"):
        await worked(desk, TICKET)


@pytest.mark.spec("TIC-9", "USE-6")
async def test_agents_of_a_ticket_never_see_the_forges_token(desk: Ground) -> None:
    (desk.folder / "ticket.md").write_text(TICKET)
    engine, _ = desk.engine(script())
    with pytest.raises(BadInput, match="would show GITHUB_TOKEN to agents"):
        await desk.run(engine, str(desk.folder / "ticket.md"), variables=("GITHUB_TOKEN",))


@pytest.mark.spec("TIC-3")
@pytest.mark.parametrize("key", ["A" * 400, "../../main", "-x", "@{u}", "a.lock", "\u202e", "", "refs/heads/main"])
def test_whatever_a_ticket_is_called_git_takes_its_branch(key: str) -> None:
    for summary in ("..", "é" * 300, "x.lock", "--force", ""):
        branch = Ticket(key=key, summary=summary, kind="fix", text="").branch
        assert re.fullmatch(r"fix/[A-Za-z0-9_][A-Za-z0-9_-]{0,150}", branch)


def test_a_title_that_an_agent_wrote_is_no_markup_in_a_file(tmp_path: Path) -> None:
    forge, title = LocalForge(tmp_path, tmp_path), "<img src=x> ![x](http://evil/x.png) `code`"
    forge.offer(PullRequestProposal("fix/x", "main", title, "body\n", "0" * 40))
    text = (tmp_path / "pull-request.md").read_text().partition("-->")[2]
    assert "![" not in text
    assert "\n# \\<img src=x>" in text
    again = forge.offered("fix/x")
    assert again is not None
    assert (again.title, again.body) == (title, "body\n")


@pytest.mark.spec("TIC-3", "TIC-9")
async def test_a_ticket_whose_title_is_edited_is_the_same_ticket_and_another_one_is_not(desk: Ground) -> None:
    first = await worked(desk, TICKET)
    edited = TICKET.replace("# Numbers are not doubled", "# Numbers are still not doubled").replace("bug", "feature")
    for name, key, same in (("ticket.md", "NUM-7", True), ("ticket.md", "NUM-8", False), ("other.md", "NUM-7", False)):
        (desk.folder / name).write_text(edited.replace("NUM-7", key))
        engine, _ = desk.engine(script())
        flags = {"yes": True, "agents": {"*": "scripted:inside"}}
        file = str(desk.folder / name)
        request = Request(goal=file, repository=desk.repository, requirements=desk.requirements, flags=flags)
        inputs, _ = await engine.ready(request)
        assert (inputs.branch == first.branch) is same
        assert (inputs.start == first.head) is same


@pytest.mark.spec("TIC-9", "USE-6")
async def test_no_title_and_no_agent_skips_a_check_of_the_forge_or_closes_another_ticket(desk: Ground) -> None:
    def impl(order: Order) -> dict[str, Any]:
        done = implemented(order, WHOLE)
        who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
        words = "mine [skip ci] ***NO_CI*** closes #98 and https://github.com/a/b/issues/7"
        subprocess.run(["git", *who, "commit", "-qam", words], cwd=order.folder, check=True, timeout=60)
        return done

    (desk.folder / "ticket.md").write_text(TICKET.replace("# Numbers are", "# #5 [ci skip] @bob GH-6: numbers are"))
    engine, _ = desk.engine(script(impl=impl))
    record = await desk.run(engine, str(desk.folder / "ticket.md"))
    message = desk.git("log", "-1", "--format=%B", record.head)
    assert "mine (skip ci)" in message
    assert not re.search(r"\[|NO_CI\*|(?<!agent)#\d|@\w|GH-\d|://", message)


@pytest.mark.spec("TIC-9", "USE-6")
def test_a_title_is_inert_as_a_commits_message_and_names_its_own_ticket_alone() -> None:
    title = "Closes #12 and closes #1 [skip ci]\n@bob"
    work = PullRequestWork("r-1", "fix/12", "main", "0" * 40, title, Verdict.open("nothing"), proven=True, key="#12")
    assert title_of(work) == "Closes #12 and closes # 1 (skip ci) @ bob"
