"""Which events notify a person, how, and that a notification never contains an agent's text."""

import hmac
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_every_event_line import every_event, filled
from trued.engine.run_store import RunStore
from trued.errors import BadInput
from trued.inputs.settings.loader import load_settings
from trued.model import Event, RunRecord
from trued.model.events.people import QuestionAsked
from trued.model.events.proof import GradedRequirement, VerdictReached
from trued.model.events.run import RunEnded
from trued.model.settings import NotifySettings, WebhookSettings
from trued.reporting.notifications.notification import notifications
from trued.reporting.notifications.notifier import Notifier
from trued.reporting.notifications.webhook import post, webhook_secret

RECORD = RunRecord(id="r-note", workflow="team", title="Loyalty \x1b[31m", repository="/r", base="b", branch="t")
MARKER = "AGENTS WORDS"
KEEPS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"
SECRET = b"only ours"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    with RunStore(tmp_path / "state", {}) as one:
        one.journal.add(RECORD)
        yield one


def judged(store: RunStore, **grades: str) -> None:
    rows = tuple(GradedRequirement.model_validate({"id": name, "grade": grade}) for name, grade in grades.items())
    verdict = VerdictReached(subject="s", commit="c", grade="", holds=False, requirements=rows)
    store.writer(RECORD).emit(verdict, "finish#1")


def ended(state: str, why: str = MARKER) -> RunEnded:
    return RunEnded(state=state, code=1, why=why, grade="")


def settle(one: Notifier) -> None:
    """Wait for every delivery, however busy the machine is."""
    for thread in one._sent:
        thread.join()


class Post:
    """A local server that stores what it receives and answers as the test says."""

    def __init__(self, *answers: int) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answers, self.release = list(answers), threading.Event()
        self.release.set()


@contextmanager
def server(kept: Post) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.got.append((self.path, dict(self.headers), body))
            kept.release.wait(60)
            self.send_response(kept.answers.pop(0) if kept.answers else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    one = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.daemon_threads = True
    thread = threading.Thread(target=one.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{one.server_port}/hook?of=ann"
    finally:
        kept.release.set()
        one.shutdown()
        thread.join()
        one.server_close()


def hook(url: str, **more: Any) -> WebhookSettings:
    return WebhookSettings(url=url, secret_env="HOOK", **more)


@pytest.mark.spec("PAGE-9")
def test_no_agents_text_is_in_any_notification_whatever_any_event_of_a_run_says(
    store: RunStore, tmp_path: Path
) -> None:
    for _, kind in every_event():
        data = json.loads(json.dumps(filled(kind)).replace('"the ', f'"{MARKER} '))
        store.writer(RECORD).emit(kind.model_validate(data), "finish#1")
    judged(store, **{f"{MARKER} id": "refuted", "R2": "refuted", "R3": "proven"})
    store.writer(RECORD).emit(QuestionAsked(text=MARKER, options=(MARKER,)), f"{MARKER}/confirm#1")
    store.writer(RECORD).emit(ended("not proven"))
    told, kept = tmp_path / "told", Post()
    with server(kept) as url:
        settings = NotifySettings(command=(sys.executable, "-c", KEEPS, str(told)), webhook=hook(url))
        one = Notifier(settings, store, {"HOOK": "x"})
        one.catch_up(0)
        settle(one)
    made = notifications(store, 0)
    assert {(each.kind, each.event) for each in made} >= {("refuted", "ended"), ("waits", "asks")}
    assert made[-1].text == "r-note ended, not proven, 2 refuted: R2, 1 more"
    assert made[-1].requirements == ("R2",)
    sent = [told.read_text(), *(str(each) for each in kept.got), *(each.text for each in made)]
    assert len(kept.got) == len(made)
    assert [each for each in sent if "AGENTS" in each or "WORDS" in each] == []


@pytest.mark.spec("PAGE-9")
@pytest.mark.parametrize(
    ("state", "grades", "kind", "text"),
    [
        ("done", {"R1": "proven"}, "ends", "r-note is done"),
        ("done", {"R1": "refuted"}, "ends", "r-note is done"),  # a lower bar, or an approval
        ("not proven", {"R1": "unproven"}, "ends", "r-note ended, not proven"),
        ("not proven", {"R1": "refuted", "R2": "proven"}, "refuted", "r-note ended, not proven, 1 refuted: R1"),
        ("waiting", {"look": "unproven", "R2": "proven"}, "waits", "r-note waits for you: look"),
        ("limited", {"R1": "refuted"}, "limits", "r-note has reached a limit"),
        ("failed", {}, "ends", "r-note failed"),
        ("a new state", {}, "ends", "r-note ended"),
    ],
)
def test_an_end_is_of_one_kind_and_names_the_requirements_that_it_is_about(
    store: RunStore, state: str, grades: dict[str, str], kind: str, text: str
) -> None:
    judged(store, **grades)
    store.writer(RECORD).emit(ended(state))
    (made,) = notifications(store, 0)
    assert (made.kind, made.text) == (kind, text)
    assert notifications(store, made.id) == []


def test_a_notification_names_as_waiting_only_what_the_runs_bar_does_not_accept(tmp_path: Path) -> None:
    with RunStore(tmp_path / "state", {}) as store:
        store.journal.add(RECORD, json.dumps({"settings": {"accept": "tested"}}))
        judged(store, R1="tested", look="unproven")
        store.writer(RECORD).emit(ended("waiting"))
        (made,) = notifications(store, 0)
    assert (made.kind, made.text) == ("waits", "r-note waits for you: look")


def test_of_many_requirements_five_are_named_and_the_rest_is_counted(store: RunStore) -> None:
    judged(store, **{f"R{number}": "refuted" for number in range(1000)})
    store.writer(RECORD).emit(ended("not proven"))
    (made,) = notifications(store, 0)
    assert made.text.endswith("1000 refuted: R0, R1, R2, R3, R4, 995 more")


@pytest.mark.spec("PAGE-9")
def test_a_run_and_a_page_that_both_notify_do_it_once(store: RunStore, tmp_path: Path) -> None:
    told = tmp_path / "told"
    settings = NotifySettings(command=(sys.executable, "-c", KEEPS, str(told)))
    driving, looking = (Notifier(settings, store, {}) for _ in range(2))
    store.listen = driving.notify_of
    store.writer(RECORD).emit(ended("done"))
    newest = looking.catch_up(0)
    for one in (driving, looking):
        settle(one)
    assert newest == store.journal.last_event_id()
    (line,) = told.read_text().splitlines()
    assert json.loads(line)["text"] == "r-note is done"
    assert looking.catch_up(newest) == newest


@pytest.mark.spec("PAGE-9")
def test_kinds_are_chosen_for_all_ways_and_for_the_webhook_alone(store: RunStore, tmp_path: Path) -> None:
    told, kept = tmp_path / "told", Post()
    with server(kept) as url:
        command = (sys.executable, "-c", KEEPS, str(told))
        settings = NotifySettings(kinds=("waits",), command=command, webhook=hook(url, kinds=("ends",)))
        one = Notifier(settings, store, {"HOOK": "x"})
        store.writer(RECORD).emit(QuestionAsked(text="Go on?", options=()), "confirm#1")
        store.writer(RECORD).emit(ended("done"))
        one.catch_up(0)
        settle(one)
    assert [json.loads(line)["kind"] for line in told.read_text().splitlines()] == ["waits"]
    assert [json.loads(body)["kind"] for _, _, body in kept.got] == ["ends"]


@pytest.mark.spec("PAGE-9")
def test_a_webhook_is_signed_with_the_time_over_exactly_its_body() -> None:
    kept = Post()
    with server(kept) as url:
        assert post(hook(url), SECRET, {"run": "r-1", "id": 7, "text": "r-1 is done – ja"})
    ((path, headers, body),) = kept.got
    mac = hmac.new(SECRET, headers["Trued-Timestamp"].encode() + b"." + body, sha256).hexdigest()
    assert hmac.compare_digest(headers["Trued-Signature"], f"sha256={mac}")
    assert (path, headers["Trued-Notification"]) == ("/hook?of=ann", "r-1-7")
    assert json.loads(body)["text"] == "r-1 is done – ja"


@pytest.mark.spec("PAGE-9")
@pytest.mark.parametrize(
    ("answers", "arrived", "tries"),
    [
        ((200,), True, 1),
        ((503, 429, 204), True, 3),
        ((500, 500, 500, 200), False, 3),
        ((404,), False, 1),
        ((302,), False, 1),
    ],
)
def test_a_webhook_is_tried_three_times_at_most_and_follows_no_redirect(
    answers: tuple[int, ...], arrived: bool, tries: int
) -> None:
    kept = Post(*answers)
    with server(kept) as url:
        assert post(hook(url), SECRET, {"run": "r-1", "id": 7}, pauses_s=(0, 0)) == arrived
    assert [path for path, _, _ in kept.got] == ["/hook?of=ann"] * tries


def test_a_webhook_that_nobody_hears_is_given_up() -> None:
    kept = Post()
    with server(kept) as url:
        pass
    assert not post(hook(url), SECRET, {"run": "r-1", "id": 7}, pauses_s=(0, 0))


@pytest.mark.spec("PAGE-9")
def test_a_webhook_that_hangs_holds_no_run_up(store: RunStore) -> None:
    kept = Post()
    kept.release.clear()
    with server(kept) as url:
        one = Notifier(NotifySettings(webhook=hook(url)), store, {"HOOK": "x"})
        store.listen = one.notify_of
        store.writer(RECORD).emit(ended("done"))  # returns although the server answers only after the release below
        kept.release.set()
        settle(one)
    assert len(kept.got) == 1


@pytest.mark.spec("PAGE-9")
def test_a_secret_comes_from_a_variable_or_from_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("only ours\n")
    file.chmod(0o600)
    by_file = WebhookSettings(url="https://example.org", secret_file=str(file))
    assert webhook_secret(by_file, {}) == SECRET
    (tmp_path / "link").symlink_to(file)
    assert webhook_secret(by_file.model_copy(update={"secret_file": str(tmp_path / "link")}), {}) == b""
    file.chmod(0o640)
    assert webhook_secret(by_file, {}) == b""
    assert webhook_secret(hook("https://example.org"), {"HOOK": "only ours"}) == SECRET
    assert webhook_secret(hook("https://example.org"), {}) == b""


def test_without_its_secret_nothing_is_posted(store: RunStore) -> None:
    kept = Post()
    with server(kept) as url:
        one = Notifier(NotifySettings(webhook=hook(url)), store, {})
        one.notify_of(
            RECORD, Event(id=1, at=0.0, key="", kind="ended", data={"state": "done", "code": 0, "why": "", "grade": ""})
        )
        one.close()
    assert kept.got == []


@pytest.mark.spec("PAGE-9", "USE-6")
@pytest.mark.parametrize(
    "table",
    [
        'url = "ftp://example.org"\nsecret_env = "X"',
        'url = "file:///etc/passwd"\nsecret_env = "X"',
        'url = "https://ann:pw@example.org/"\nsecret_env = "X"',
        'url = "https://example.org"',
        'url = "https://example.org"\nsecret_env = "X"\nsecret_file = "y"',
        'url = "https://example.org"\nsecret_env = "X"\nkinds = ["all"]',
    ],
)
def test_a_webhook_that_cannot_be_signed_or_is_no_web_address_is_refused_with_a_sentence(
    tmp_path: Path, table: str
) -> None:
    (tmp_path / "trued.toml").write_text(f"[notify.webhook]\n{table}\n")
    with pytest.raises(BadInput, match=r"webhook|kinds|url"):
        load_settings({}, {}, None, tmp_path)


@pytest.mark.spec("PAGE-9", "USE-6")
def test_a_repository_cannot_name_an_address_nor_a_variable_set_one(tmp_path: Path) -> None:
    (tmp_path / "trued.toml").write_text('[notify.webhook]\nurl = "https://evil.example"\nsecret_env = "HOME"\n')
    with pytest.raises(BadInput, match="a project's settings cannot set notify"):
        load_settings({}, {}, tmp_path, None)
    (tmp_path / "trued.toml").unlink()
    assert load_settings({}, {"TRUED_NOTIFY": "x"}, tmp_path, None).notify == NotifySettings()
