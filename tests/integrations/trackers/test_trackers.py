"""Tickets of GitHub and Jira, from servers that check every request against the vendors' own descriptions."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.forges import answering
from tests.integrations.forges.answering import Answering, Fault
from tests.integrations.forges.servers import TOKEN, GitHub, Jira, github_server, jira_server
from trued.errors import BadInput, ForgeFailed, LimitReached
from trued.inputs.tickets.ticket import ticket_from_issue
from trued.integrations.http import Service
from trued.integrations.trackers import tracker_of
from trued.integrations.trackers.jira import JiraTracker
from trued.integrations.trackers.jira_wiki import markdown_of_wiki
from trued.integrations.trackers.names import ticket_name
from trued.model import ForgeSettings, Settings, TicketSettings
from trued.protocols import TrackerIssue

BODY = 'Points are wrong.\r\n\r\n## Acceptance criteria\r\n- [ ] `/plp` shows "Earn 40 points"\r\n'


@pytest.fixture
def github() -> Iterator[GitHub]:
    with github_server() as server:
        yield server


@pytest.fixture
def jira() -> Iterator[Jira]:
    with jira_server() as server:
        yield server


def on_github(github: GitHub, **more: Any) -> Settings:
    return Settings(forge=ForgeSettings(url=github.url, repository="acme/shop"), tickets=TicketSettings(**more))


def on_jira(jira: Jira, **more: Any) -> Settings:
    return Settings(tickets=TicketSettings(url=jira.url, **more))


def issue(settings: Settings, name: str, root: Path, **environ: str) -> TrackerIssue:
    return tracker_of(settings, name, environ, root).issue(name)


# -- GitHub


@pytest.mark.spec("TIC-1")
def test_a_github_issue_is_a_ticket(github: GitHub, tmp_path: Path) -> None:
    github.issue(12, "Points on the list 🎉", BODY, ["bug", "shop"])
    found = issue(on_github(github), "#12", tmp_path, GITHUB_TOKEN=TOKEN)
    assert found == TrackerIssue("#12", "Points on the list 🎉", BODY, "bug", url=f"{github.url}/acme/shop/issues/12")
    assert found == issue(on_github(github), "acme/shop#12", tmp_path)  # a public issue needs no token
    assert found == issue(on_github(github), found.url, tmp_path)
    assert found == issue(on_github(github, kind="github"), "12", tmp_path)
    ticket = ticket_from_issue(found)
    assert (ticket.key, ticket.kind, ticket.branch) == ("#12", "fix", "fix/12-points-on-the-list")
    assert [one.text for one in ticket.requirements] == ["Points are wrong."]
    assert [one.text for one in ticket.acceptance] == ['`/plp` shows "Earn 40 points"']
    assert ticket.missing == ("affected areas", "pictures of the expected behaviour", "preview URL")


def test_the_type_of_an_issue_outweighs_its_labels(github: GitHub, tmp_path: Path) -> None:
    github.issue(1, "Points", None, ["bug"], kind="Feature")
    github.issue(2, "Points", "", ["bug", "enhancement"])
    assert issue(on_github(github), "#1", tmp_path).kind == "feature"
    assert issue(on_github(github), "#2", tmp_path).kind == ""


def test_a_pull_request_is_no_issue_and_an_unknown_one_says_why(github: GitHub, tmp_path: Path) -> None:
    github.issue(3, "x", "y")
    github.issues[3]["pull_request"] = dict.fromkeys(("diff_url", "html_url", "patch_url", "url"), "http://127.0.0.1/x")
    with pytest.raises(BadInput, match="is a pull request"):
        issue(on_github(github), "#3", tmp_path)
    with pytest.raises(BadInput, match=r"cannot read issue 4 of acme/shop.*GITHUB_TOKEN is not set"):
        issue(on_github(github), "#4", tmp_path)
    with pytest.raises(BadInput, match="does not accept the token in GITHUB_TOKEN"):
        issue(on_github(github), "#3", tmp_path, GITHUB_TOKEN="wrong-0123456789")


# -- Jira


def text(words: str, *marks: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "marks": [{"type": mark} for mark in marks]}


def node(kind: str, *content: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "content": list(content), "attrs": attributes}


DOCUMENT = node(
    "doc",
    node("heading", text("What is wrong"), level=2),
    node(
        "paragraph", text("The list shows "), text("+ points", "code"), text(" instead. ", "strong"), text("snake_case")
    ),
    node(
        "bulletList",
        node(
            "listItem",
            node("paragraph", text("one")),
            node("bulletList", node("listItem", node("paragraph", text("nested")))),
        ),
    ),
    node("taskList", node("taskItem", text("tick me"), state="TODO"), node("taskItem", text("ticked"), state="DONE")),
    node("codeBlock", text("a ``` b"), language="py"),
    node(
        "table",
        node("tableRow", node("tableHeader", node("paragraph", text("a|b")))),
        node("tableRow", node("tableCell", node("paragraph", text("1")))),
    ),
    node("panel", node("paragraph", text("mind this"))),
    node("mediaSingle", node("media", type="file", id="x", alt="plp.png")),
    node("paragraph", text("# no heading")),
    node("somethingNew", node("paragraph", text("kept"))),
)
MARKDOWN = """\
## What is wrong

The list shows `+ points` **instead.** snake_case

- one
  - nested

- [ ] tick me
- [x] ticked

````py
a ``` b
````

| a\\|b |
| --- |
| 1 |

> mind this

![plp.png](http://127.0.0.1/plp.png)

\\# no heading

kept"""
ATTACHED = [{"filename": "plp.png", "mimeType": "image/png", "content": "http://127.0.0.1/plp.png"}]


@pytest.mark.spec("TIC-1")
def test_an_issue_of_jira_cloud_is_a_ticket(jira: Jira, tmp_path: Path) -> None:
    jira.names["customfield_10050"] = "Definition of done"
    jira.names["customfield_10019"] = "Rank"
    criteria = node("doc", node("bulletList", node("listItem", node("paragraph", text("it is quick")))))
    more = {"customfield_10050": criteria, "customfield_10019": "0|hzzzzz:", "attachment": ATTACHED}
    jira.issue("SHOP-7", "Points", DOCUMENT, "Bug", **more, components=[{"name": "theme"}])
    settings = on_jira(jira, acceptance=["definition of DONE"])
    found = issue(settings, "SHOP-7", tmp_path, JIRA_TOKEN=TOKEN, JIRA_USER=jira.user)
    assert found.body == MARKDOWN
    assert (found.key, found.title, found.kind) == ("SHOP-7", "Points", "bug")
    assert found.pictures == ("http://127.0.0.1/plp.png",)
    assert found == issue(settings, f"{jira.url}/browse/SHOP-7", tmp_path, JIRA_TOKEN=TOKEN, JIRA_USER=jira.user)
    ticket = ticket_from_issue(found)
    assert [one.text for one in ticket.acceptance] == ["it is quick"]
    assert ticket.areas == ("theme",)
    assert ticket.pictures == ("http://127.0.0.1/plp.png",)
    assert "hzzzzz" not in ticket.text
    line = ticket.acceptance[0].source.line
    assert ticket.text.splitlines()[line - 1] == "- it is quick"


@pytest.mark.spec("TIC-1")
def test_an_issue_of_jira_server_is_a_ticket(tmp_path: Path) -> None:
    wiki = (
        "h2. Steps\r\n# open {{/plp}}\r\n## look\r\n* *Bold* and [docs|https://example.com/a]\r\n"
        "{code:java}\nint *a* = 1;\n{code}\n!plp.png|thumbnail!\n||a||b||\n|1|2|\n"
        "{quote}\nsaid\n{quote}\nplain_text {color:red}red{color}"
    )
    with jira_server(cloud=False) as jira:
        jira.issue("OPS-1", "Slow", wiki, "Improvement", attachment=ATTACHED)
        found = issue(on_jira(jira, kind="jira", project="OPS"), "1", tmp_path, JIRA_TOKEN=TOKEN)
        assert jira.asked[-1].headers["authorization"] == f"Bearer {TOKEN}"
    assert found.kind == "feature"
    assert found.body == (
        "## Steps\n1. open `/plp`\n   1. look\n- **Bold** and [docs](https://example.com/a)\n"
        "```\nint *a* = 1;\n```\n![plp.png](http://127.0.0.1/plp.png)\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
        "> said\n\nplain_text red"
    )


REST = "The total must be rounded.\n\nh2. Acceptance criteria\n* it is quick"
REST_AS_MARKDOWN = "The total must be rounded.\n\n## Acceptance criteria\n- it is quick"


@pytest.mark.parametrize(
    ("wiki", "markdown"),
    [
        ("{quote}\nAs said{quote}", "> As said\n"),
        ("{quote}As said\nhere{quote}", "> As said\n> here\n"),
        ("Ada: {quote}\nAs said\n{quote}", "Ada: \n> As said\n"),
        ("Ada: {quote}As said{quote}", "Ada: \n> As said\n"),
        ("{panel:title=Log}\nAs said{panel}", "> **Log**\n> As said\n"),
        ("{panel}\n{quote}As said{quote}\nhere\n{panel}", "> As said\n> here\n"),
        ("{quote}{code}\na{quote}b\n{code}{quote}", "> ```\n> a{quote}b\n> ```\n"),
        ("Run {noformat}\nmake\n{noformat}", "Run \n```\nmake\n```"),
        ("{code}make{code} it", "```\nmake\n```\n it"),
        ("{quote}", "{quote}"),  # nothing ends it
        ("a {quote} b {{ {quote} }}", "a {quote} b ` {quote} `"),
        ("a {panel}\n{code}\n{panel}\n{code}", "a {panel}\n```\n{panel}\n```"),
        ("{quote}a{quote} b {quote}", "> a\n\n b {quote}"),
        ("* it returns {code}404{code} for x", "- it returns `404` for x"),
        ("* it returns {noformat}{noformat} for x", "- it returns  for x"),
        ("Write {{a {quote} b}} or \\{quote} or {code}", "Write `a {quote} b` or \\{quote} or {code}"),
    ],
)
def test_a_quotation_or_block_ends_where_jira_ends_it(wiki: str, markdown: str) -> None:
    assert markdown_of_wiki(f"{wiki}\n{REST}", {}) == f"{markdown}\n{REST_AS_MARKDOWN}"


def test_jira_refuses_in_one_sentence(jira: Jira, tmp_path: Path) -> None:
    settings = on_jira(jira)
    with pytest.raises(BadInput, match="to read SHOP-7, Jira needs a token"):
        issue(settings, "SHOP-7", tmp_path)
    assert jira.asked == []
    with pytest.raises(BadInput, match="cannot read SHOP-8"):
        issue(settings, "SHOP-8", tmp_path, JIRA_TOKEN=TOKEN, JIRA_USER=jira.user)
    with pytest.raises(BadInput, match="does not accept the token in JIRA_TOKEN"):
        issue(settings, "SHOP-7", tmp_path, JIRA_TOKEN="wrong-0123456789", JIRA_USER=jira.user)
    with pytest.raises(BadInput, match="the Jira server of SHOP-7 is unknown"):
        issue(Settings(), "SHOP-7", tmp_path, JIRA_TOKEN=TOKEN)
    jira.faults.append(answering.too_quick(30, 429, times=1))
    with pytest.raises(LimitReached, match="try again at"):
        issue(settings, "SHOP-7", tmp_path, JIRA_TOKEN=TOKEN, JIRA_USER=jira.user)


FAULTS: dict[str, Callable[[], Fault]] = {
    "broken": answering.broken,
    "bad gateway": lambda: answering.broken(503),
    "garbage": answering.garbage,
    "a list": lambda: Fault(200, body=[]),
    "other JSON": lambda: Fault(200, body={"fields": {"summary": 7}}),
    "elsewhere": lambda: answering.elsewhere("http://localhost:9/steal"),
    "elsewhere for ever": lambda: answering.elsewhere("http://localhost:9/steal", 301),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_tracker_that_answers_nonsense_is_one_sentence(
    github: GitHub, jira: Jira, fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases: list[tuple[Answering, Settings, str]] = [
        (github, on_github(github), "#1"),
        (jira, on_jira(jira), "SHOP-7"),
    ]
    for server, settings, name in cases:
        server.faults.append(FAULTS[fault]())
        with pytest.raises(ForgeFailed) as error:
            issue(settings, name, tmp_path, GITHUB_TOKEN=TOKEN, JIRA_TOKEN=TOKEN, JIRA_USER=jira.user)
        assert "\n" not in str(error.value)
        assert TOKEN not in str(error.value)
        assert "127.0.0.1" in str(error.value)
        assert "localhost" not in str(error.value)
        assert len(server.asked) <= 3
    assert capfd.readouterr() == ("", "")  # no library prints anything


def test_a_jira_that_never_answers_or_is_not_there(jira: Jira, tmp_path: Path) -> None:
    jira.faults.append(answering.hanging())
    for url in (jira.url, "http://127.0.0.1:9"):
        at = Service("Jira", url, "JIRA_TOKEN", TOKEN, timeout_s=0.3)
        with pytest.raises(ForgeFailed, match="cannot reach Jira"):
            JiraTracker(at, on_jira(jira)).issue("SHOP-7")


# -- names


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("#12", True),
        ("acme/shop#12", True),
        ("SHOP-7", True),
        ("https://github.com/acme/shop/issues/12", True),
        ("https://acme.atlassian.net/browse/SHOP-7", True),
        ("https://acme.atlassian.net/jira/software/c/projects/SHOP/boards/1?selectedIssue=SHOP-7", True),
        ("tickets/SHOP-7.md", True),
        ("shop-7", False),
        ("12", False),
        ("#0", False),
        ("Add a page", False),
        ("https://example.com/", False),
        ("", False),
        ("a\0b", False),
    ],
)
def test_the_name_of_a_ticket_is_known_by_its_look(name: str, is_one: bool) -> None:
    assert (ticket_name(name, Settings()) is not None) is is_one


@pytest.mark.parametrize(
    "name",
    [
        "https://evil.example.com/browse/SHOP-7",
        "https://evil.example.com/acme/shop/issues/12",
        "https://acme.atlassian.net.evil.example.com/browse/SHOP-7",
        "http://acme.atlassian.net/browse/SHOP-7",
        "https://acme.atlassian.net:444/browse/SHOP-7",
    ],
)
def test_no_token_is_sent_to_an_address_that_the_user_has_not_set(name: str) -> None:
    with pytest.raises(BadInput, match="no token is sent there"):
        ticket_name(name, Settings(tickets=TicketSettings(url="https://own.example.com")))


def test_a_file_is_a_ticket_too(tmp_path: Path) -> None:
    path = tmp_path / "SHOP-7.md"
    path.write_text("# Points\n\nShow them.\n")
    ticket = ticket_from_issue(issue(Settings(), str(path), tmp_path))
    assert (ticket.key, ticket.summary, ticket.text) == ("SHOP-7", "Points", path.read_text())
    for name, words in (("none.md", "there is no file"), ("SHOP-8.md", "the ticket is empty"), ("b.md", "not UTF-8")):
        if name != "none.md":
            (tmp_path / name).write_bytes(b" \n" if name == "SHOP-8.md" else b"\xff")
        with pytest.raises(BadInput, match=words):
            issue(Settings(), str(tmp_path / name), tmp_path)
