"""What hostile tickets, agents and forges try against the ticket workflow, and what becomes of it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forges.servers import TOKEN, github_server
from trued.delivery import _unreached
from trued.engine.ticketed import from_file, from_tracker
from trued.types import ForgeSettings, Goal, Settings, Source

SECRETS = "It is wrong.\n\n![a](/etc/shadow)\n![b](/)\n![c](docs/seen.png)\n\n## Screenshots\n\n- ![](/etc/hosts.png)\n"


@pytest.mark.spec("USE-6", "TIC-1")
def test_an_issue_gives_no_agent_a_file_of_this_machine(tmp_path: Path) -> None:
    with github_server(None) as github:
        github.issue(12, "Numbers", SECRETS)
        forge = ForgeSettings(kind="github", repository="acme/shop", url=github.url)
        ticket = from_tracker("#12", Settings(forge=forge), {"GITHUB_TOKEN": TOKEN}, tmp_path)
    assert ticket.pictures == ("docs/seen.png",)


@pytest.mark.spec("USE-6", "TIC-1")
def test_a_picture_of_a_file_is_a_picture_and_no_link_to_something_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (tmp_path / "real.png").write_bytes(b"\x89PNG")
    (tmp_path / "linked.png").symlink_to(tmp_path / "secret")
    (tmp_path / "round.png").symlink_to(tmp_path / "round.png")
    names = f"{tmp_path}/secret, /, linked.png, round.png, {tmp_path}/real.png, https://example.invalid/x.png"
    text = f"---\nkey: A-1\npictures: [{names}]\n---\n# Numbers\n\nThey are wrong.\n"
    ticket = from_file(Goal(text=text, source=Source(file="ticket.md", line=1)), tmp_path)
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
        assert "does not answer" in _unreached(url)


@pytest.mark.spec("USE-7", "TIC-5")
@pytest.mark.parametrize("url", ["http://127.0.0.1:abc/", "http://[::1/", "http://127.0.0.1:9/a\x01b", "file:///etc"])
def test_an_address_of_a_preview_that_is_none_is_one_sentence(url: str) -> None:
    assert _unreached(url)
