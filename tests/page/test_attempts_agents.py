"""Attempts that must fail: by a process confined as agents are, and by whoever has stolen a whole session.

That a confined process reaches no bus, key agent or window of the person by any other socket is shown in
tests/workspace/test_session_sockets.py and tests/workspace/test_sandbox.py.
"""

import json
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.ended_run import RUN, ended_run
from tests.page.made_up import addresses
from tests.page.served import Served, page
from tests.page.test_pages_hold_back import KEY, SECRETS, examined
from trued.engine.journals.sqlite import SqliteJournal
from trued.model import Approval
from trued.wire import Confinement
from trued.workspace.sandbox import scope
from trued.workspace.sandbox.confined_command import confine
from trued.workspace.sandbox.levels import level_state
from trued.workspace.sandbox.visible_folders import interpreter_folders

pytestmark = pytest.mark.spec("PAGE-4", "PAGE-5")

# What an agent can try by itself: it finds the port, asks for everything, and looks for secrets in files and processes.
AGENT = """
import http.client, json, os, pathlib, socket, sys
port, host, home, enter, pid, *jars = int(sys.argv[1]), sys.argv[2], *sys.argv[3:]
found = {"pages": [], "posts": [], "files": [], "argv": "", "environ": ""}
def ask(method, path, **headers):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, '{"run": "r-people"}' if method == "POST" else None, {"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except OSError as error:
        return 0, str(error)
for path in ("/", "/r/r-people", "/live?address=/", "/pieces?address=/", "/waits", "/gates", "/events"):
    found["pages"].append(ask("GET", path))
own = {"Origin": "http://" + host, "Content-Type": "application/json"}
for path in ("/do/approve", "/do/cancel", "/do/answer", "/enter"):
    found["posts"].append(ask("POST", path, **own))
for path in (enter, home + "/journal.db", f"/proc/{pid}/environ", f"/proc/{pid}/fd/0", f"/proc/{pid}/mem", *jars):
    try:
        with open(path, "rb") as file:
            found["files"].append([path, file.read(100).decode("utf-8", "replace")])
    except OSError:
        pass
try:
    found["argv"] = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
except OSError:
    pass
try:
    with socket.socket(socket.AF_INET6) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("::1", port))
        other.listen()
        found["bound"] = True
except OSError:
    found["bound"] = False
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with a terminal, over a run in which somebody has to judge `look`."""
    folder = tmp_path_factory.mktemp("spoken")
    with ended_run(folder) as place:
        place.finish(1, place.commits[2])
    with page(folder / "state", terminal=True) as one:
        one.enter()
        yield one


def _approvals(served: Served) -> list[Approval]:
    journal = SqliteJournal(served.home / "journal.db", read_only=True)
    found = journal.approvals(RUN)
    journal.close()
    return found


def _ran_as_an_agent(script: list[str], level: str, folder: Path) -> str:
    """What a program printed that was started as supervisors start agents."""
    sight = Confinement(level=level, network="host", readable=interpreter_folders(sys.executable))
    argv, environment = confine([sys.executable, "-I", "-c", *script], sight, folder=folder, variables={})
    ran = subprocess.run(
        argv,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        start_new_session=True,
    )
    return ran.stdout


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_28_30_and_32_a_confined_agent_gets_nothing_and_finds_no_secret(
    spoken: Served, tmp_path: Path, level: str
) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    entry = spoken.home / "page" / "enter-waiting.html"  # as it lies there while the browser starts
    entry.parent.mkdir(exist_ok=True)
    entry.write_text("a code")
    jars = [spoken.home / one for one in (".config/chromium/Default/Cookies", ".mozilla/firefox/x/cookies.sqlite")]
    for jar in jars:  # of the person's browser, as long as it keeps the session
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_text(spoken.session["Cookie"])
    words = [str(spoken.port), spoken.authority, str(spoken.home), str(entry)]
    files = list(map(str, jars))
    found = json.loads(_ran_as_an_agent([AGENT, *words, str(spoken.process.pid), *files], level, tmp_path))
    free = json.loads(_ran_as_an_agent([AGENT, *words, "none", *files], "none", tmp_path))  # nothing is in its way
    entry.unlink()
    assert {str(entry), *files} <= {path for path, _ in free["files"]}
    statuses = [status for status, _ in found["pages"]]
    assert set(statuses) <= {401, 0}, found["pages"]  # 0: the sandbox leaves it no network of this machine
    assert all(status in (0, 401, 403) for status, _ in found["posts"]), found["posts"]
    assert "look" not in "".join(text for _, text in found["pages"] + found["posts"]).replace("looks", "")
    assert found["files"] == []
    assert spoken.session["Cookie"].partition("=")[2] not in found["argv"]
    assert spoken.session["X-Tab-Key"] not in found["argv"]
    assert not found["bound"] or set(statuses) == {0}
    assert _approvals(spoken) == []


APPROVE = {"run": RUN, "requirement": "look", "who": "Mallory", "reason": "it is fine"}


def test_33_a_stolen_session_cannot_speak_because_the_terminal_wants_the_number(spoken: Served) -> None:
    answer = spoken.post("/do/approve", APPROVE)
    assert answer.status == 202
    shown = spoken.reads("press Enter to refuse")
    assert f"Mallory accepts look of {RUN} at" in shown
    assert json.loads(answer.body)["number"] not in shown  # who did not ask for it cannot know it
    assert spoken.post("/do/approve", APPROVE).status == 409  # one at a time
    assert json.loads(spoken.post("/pending", {}).body)["number"] == json.loads(answer.body)["number"]
    only_cookie = {"Cookie": spoken.session["Cookie"]}
    assert [spoken.post(path, {}, session=only_cookie).status for path in ("/pending", "/withdraw")] == [403, 403]
    assert spoken.get("/pending").status == 405
    assert _approvals(spoken) == []
    spoken.types("")
    spoken.reads("nothing was recorded: refused in the terminal")
    assert _approvals(spoken) == []


def test_34_three_wrong_numbers_end_it(spoken: Served) -> None:
    told = json.loads(spoken.post("/do/approve", APPROVE).body)
    wrong = f"{(int(told['number']) + 1) % 10_000:04}"
    for _ in range(3):
        spoken.reads("to refuse")
        spoken.types(wrong)
    spoken.reads("nothing was recorded: 3 wrong numbers")
    assert json.loads(spoken.get(f"/proposal/{told['proposal']}").body)["state"] == "refused"
    spoken.types(told["number"])  # too late
    assert _approvals(spoken) == []


# Whoever has stolen a session knows the number. It tries to type it where the page asks: into the terminal by its name,
# by the descriptors of the page's process, and as its own controlling terminal; and to press keys in a window.
TYPIST = """
import fcntl, json, os, socket, sys, termios
number, terminal, pid, window = sys.argv[1:]
def typed(path, flags):
    try:
        file = os.open(path, flags | os.O_NOCTTY)
    except OSError:
        return "refused"
    try:
        for one in number + chr(10) if number else "":
            fcntl.ioctl(file, termios.TIOCSTI, one.encode())
        return "typed"
    except OSError:
        return "opened"
places = [terminal, f"/proc/{pid}/fd/0", f"/proc/{pid}/fd/2", "/dev/tty", "/dev/console"]
found = {path: [typed(path, flags) for flags in (os.O_RDWR, os.O_RDONLY, os.O_WRONLY)] for path in places}
found["own"] = []
for file in (0, 1, 2):
    try:
        fcntl.ioctl(file, termios.TIOCSTI, b"0")
        found["own"].append("typed")
    except OSError:
        found["own"].append("refused")
with socket.socket(socket.AF_UNIX) as display:
    try:
        display.connect(chr(0) + window)
        found["window"] = "reached"
    except OSError:
        found["window"] = "refused"
print(json.dumps(found))
"""


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_35_a_confined_agent_that_knows_the_number_cannot_type_it(spoken: Served, tmp_path: Path, level: str) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    told = json.loads(spoken.post("/do/approve", APPROVE).body)
    spoken.reads("press Enter to refuse")
    pid = str(spoken.process.pid)
    terminal = str(Path(f"/proc/{pid}/fd/0").readlink())
    window = f"/tmp/.X11-unix/X{uuid.uuid4().int % 10**6}"
    with socket.socket(socket.AF_UNIX) as display:
        display.bind("\0" + window)
        display.listen(8)
        found = json.loads(_ran_as_an_agent([TYPIST, told["number"], terminal, pid, window], level, tmp_path))
        # one who is not confined, and types nothing, reaches what the other one does not
        free = json.loads(_ran_as_an_agent([TYPIST, "", "/dev/null", pid, window], "none", tmp_path))
    reached = found.pop("window")
    assert {one for tries in found.values() for one in tries} == {"refused"}, found
    assert free["window"] == "reached"
    assert free[f"/proc/{pid}/fd/0"][0] != "refused"
    assert reached == "refused" or not scope.can_scope()
    assert json.loads(spoken.get(f"/proposal/{told['proposal']}").body)["state"] == "asked"
    assert _approvals(spoken) == []
    spoken.types("")
    spoken.reads("nothing was recorded")


# Whoever has stolen a session, and is confined as agents are: it guesses codes, reads every page, changes what it can.
THIEF = """
import http.client, json, sys
from concurrent.futures import ThreadPoolExecutor
port, host, session, gets, posts, guesses = int(sys.argv[1]), sys.argv[2], *map(json.loads, sys.argv[3:])
def ask(method, path, body=None, headers=session):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        own = {"Origin": "http://" + host, "Content-Type": "application/json"} if method == "POST" else {}
        sent = json.dumps(body) if body is not None else None
        connection.request(method, path, sent, {"Host": host, **own, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except OSError as error:
        return 0, str(error)
found = {"pages": [ask("GET", path) for path in gets], "posts": [ask("POST", path, body) for path, body in posts]}
with ThreadPoolExecutor(40) as many:
    found["guesses"] = list(many.map(lambda n: ask("POST", "/enter", {"code": f"guess-{n}"}, {})[0], range(guesses)))
print(json.dumps(found))
"""


@pytest.mark.spec("PAGE-6")
@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
@pytest.mark.slow
def test_29_36_and_37_a_confined_thief_of_a_session_that_looks_guesses_reads_and_changes_nothing(
    tmp_path: Path, level: str
) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    home, folder = tmp_path / "state", tmp_path / "clone"
    home.mkdir()
    folder.mkdir()
    examined(home, "running").close()
    posts = [(path, APPROVE) for path in ("/do/approve", "/do/cancel", "/do/answer", "/pending", "/withdraw", "/x")]
    with page(home, "--look") as one:
        one.enter()
        pages = addresses("r-demo", KEY, "slug")
        words = [json.dumps(each) for each in (one.session, pages, posts, 40)]
        found = json.loads(_ran_as_an_agent([THIEF, str(one.port), one.authority, *words], level, folder))
        told = one.errors.read_text()
    shown = "".join(text for _, text in found["pages"])
    assert {status for status, _ in found["pages"]} <= {200, 0}  # it is in, if its sandbox leaves it this network
    assert not any(secret in shown for secret in (*SECRETS, "Foo &amp; Bar 42", "foo-bar-42"))
    assert {status for status, _ in found["posts"]} <= {404, 0}
    assert set(found["guesses"]) <= {403, 429, 0}
    assert "guessed 10 wrong codes" in told or 0 in found["guesses"]


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_33_a_confined_thief_of_a_whole_session_cannot_speak(spoken: Served, tmp_path: Path, level: str) -> None:
    if not level_state(level).works:
        pytest.skip(level_state(level).why)
    words = [json.dumps(each) for each in (spoken.session, [], [("/do/approve", APPROVE)], 0)]
    found = json.loads(_ran_as_an_agent([THIEF, str(spoken.port), spoken.authority, *words], level, tmp_path))
    ((status, _),) = found["posts"]
    assert status in (202, 0)  # it has proposed something, and knows the number
    if status:
        spoken.reads("press Enter to refuse")
        assert _approvals(spoken) == []  # and has no way to type it (35)
        spoken.types("")
        spoken.reads("nothing was recorded")
    assert _approvals(spoken) == []


@pytest.mark.parametrize("why", ["fine\n\nnothing to see", "fine\x1b[2J\x1b[1;1H", "fine\u202e"])
def test_33_words_of_the_page_cannot_pretend_to_be_lines_of_the_terminal(spoken: Served, why: str) -> None:
    assert spoken.post("/do/approve", {**APPROVE, "reason": why}).status == 202
    shown = spoken.reads("press Enter to refuse")
    (line,) = [one for one in shown.splitlines() if "Mallory accepts" in one]
    assert "fine" in line
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    spoken.types("")
    spoken.reads("nothing was recorded")


def test_the_work_that_was_looked_at_is_the_work_that_is_accepted(spoken: Served) -> None:
    answer = spoken.post("/do/approve", {**APPROVE, "commit": "f" * 40})
    assert answer.status == 409
    assert "moved on" in answer.body


def test_the_person_with_the_number_speaks(spoken: Served) -> None:
    told = json.loads(spoken.post("/do/approve", {**APPROVE, "who": "Ann Lee", "reason": "I looked"}).body)
    spoken.reads("press Enter to refuse")
    spoken.types(told["number"])
    spoken.reads("recorded")
    (approval,) = _approvals(spoken)
    assert (approval.requirement, approval.who, approval.why) == ("look", "Ann Lee", "I looked")
    assert approval.way == "page"
    assert json.loads(spoken.get(f"/proposal/{told['proposal']}").body)["state"] == "done"


@pytest.mark.slow
def test_without_a_terminal_the_page_shows_the_command_and_records_nothing(tmp_path: Path) -> None:
    with ended_run(tmp_path) as place:
        place.finish(1, place.commits[2])
    with page(tmp_path / "state") as one:
        one.enter()
        answer = one.post("/do/approve", APPROVE)
        assert answer.status == 409
        command = json.loads(answer.body)["command"]
        assert command == f"trued approve {RUN} look --as Mallory --reason 'it is fine'"
        assert _approvals(one) == []


@pytest.mark.spec("PAGE-5")
def test_enter_in_the_terminal_lets_another_browser_in_by_a_fresh_code(tmp_path: Path) -> None:
    with page(tmp_path, terminal=True) as one:
        first = one.enter_file
        one.reads("Ctrl-C ends the page")
        one.types("")
        shown = one.reads(".html")
        one.enter_file = Path(shown[shown.index("/", shown.index("file://") + 7) : shown.rindex(".html") + 5])
        assert one.enter_file != first
        assert not first.exists()
        one.enter()
        assert one.get("/").status == 200
