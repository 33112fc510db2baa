"""Small problems of people's first hour: missing names, locations of files, defaults, figures."""

import asyncio
import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.bare_inputs import BARE_INPUTS
from tests.cli.conftest import Each, Trued, git
from tests.cli.test_command_line import one_sentence
from tests.cli.test_own_words import terminal
from tests.page.made_up import html_of
from tests.stored_events import writer
from trued.cli.event_lines import event_line
from trued.cli.format import sentences_line
from trued.cli.live import LiveTree
from trued.cli.people import is_comment
from trued.cli.terminal import ask_name_and_reason, ask_person
from trued.cli.tree import waiting
from trued.engine.journals.sqlite import SqliteJournal
from trued.engine.trust import files_to_trust, record_trust
from trued.errors import BadInput
from trued.model import Event, Question, RunRecord
from trued.page.reader import Reader
from trued.reporting.views.progress import Progress
from trued.reporting.views.stats import RunFacts, add_up, week_of
from trued.wire import Amount, Spend


def _decided(spend: Spend, _known: Sequence[Spend]) -> Spend:
    return spend


def add(journal: SqliteJournal, name: str, folder: Path, state: str) -> RunRecord:
    record = RunRecord(
        id=name,
        workflow="solo",
        title=f"Title of {name}",
        repository=str(folder),
        base="b" * 40,
        branch=f"trued/{name}",
    )
    journal.add(record, BARE_INPUTS)
    record = journal.run(name).model_copy(update={"state": state})
    journal.update(record)
    return record


@pytest.mark.spec("DAY-6", "USE-7")
def test_resume_without_a_name_takes_the_newest_unfinished_run_and_cancel_wants_one(
    each: Each, journal: SqliteJournal, project: Path
) -> None:
    nothing = each(["resume"], ["cancel"], cwd=project)
    assert ["no run to resume here" in one_sentence(nothing[0]), "no run to cancel" in one_sentence(nothing[1])] == [
        True,
        True,
    ]
    add(journal, "r-older", project, "interrupted")
    add(journal, "r-newer", project, "done")
    unnamed = each(["cancel"], cwd=project)[0]
    said = one_sentence(unnamed)
    assert "trued cancel r-older" in said
    assert "Title of r-older" in said
    assert journal.run("r-older").state == "interrupted"
    add(journal, "r-older2", project, "cancelled")
    journal.update(journal.run("r-older").model_copy(update={"state": "cancelled"}))
    assert "no run to resume here; the newest run, r-older2, is cancelled" in one_sentence(
        each(["resume"], cwd=project)[0]
    )


@pytest.mark.spec("DAY-6", "USE-7")
def test_tasks_are_opened_again_in_one_run_alone(each: Each, journal: SqliteJournal, project: Path) -> None:
    for name in ("r-one", "r-two"):
        add(journal, name, project, "interrupted")
    refused = each(["resume", "r-one", "r-two", "--reopen", "T1"], ["resume", "--all", "--reopen", "T1"], cwd=project)
    assert ["--reopen is for one run" in one_sentence(one) for one in refused] == [True, True]
    assert [journal.run(name).state for name in ("r-one", "r-two")] == ["interrupted", "interrupted"]


@pytest.mark.spec("USE-7", "DAY-13")
def test_a_mistake_is_one_sentence_without_advice_on_workflows(each: Each, project: Path) -> None:
    missing, grade = each(["run", "nope.md"], ["run", "do it", "--accept", "good"], cwd=project)
    assert "there is no file nope.md" in one_sentence(missing)
    assert "good is not a grade; accept one of tested, examined, attested, proven" in one_sentence(grade)


@pytest.mark.spec("DAY-12")
def test_the_live_tree_names_the_run_and_not_its_branch(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    data = {"title": "SHELF-12: filter", "workflow": "ticket", "branch": "feat/SHELF-12-filter", "level": "bubblewrap"}
    with LiveTree(console=console) as tree:
        tree.follow("r-tick1", tmp_path)
        tree.listen(Event(id=1, at=1.0, key="", kind="run began", data=data))
    assert isinstance(console.file, io.StringIO)
    assert "trued resume r-tick1" in console.file.getvalue()


@pytest.mark.spec("DAY-12")
def test_a_report_goes_to_the_state_folder_and_not_into_the_working_tree(
    trued: Trued, journal: SqliteJournal, project: Path, home: Path
) -> None:
    add(journal, "r-rep", project, "done")
    before = sorted(project.iterdir())
    done = trued("report", "r-rep", cwd=project)
    assert done.returncode == 0, done.stderr
    written = Path(done.stdout.strip())
    assert written == home / "runs" / "r-rep" / "report.html"
    assert written.is_file()
    assert sorted(project.iterdir()) == before
    opened = trued("report", "r-rep", "--open", cwd=project, variables={"PATH": os.path.dirname(_git())})  # noqa: PTH120
    assert opened.returncode in (0, 2)
    assert "Traceback" not in opened.stderr


def _git() -> str:
    import shutil

    return shutil.which("git") or "/usr/bin/git"


@pytest.mark.spec("DAY-12")
async def test_enter_means_yes_where_yes_only_goes_on_and_nothing_where_it_would_decide(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "Bea Lee")
    monkeypatch.chdir(tmp_path)
    loop = asyncio.get_running_loop()
    with terminal(monkeypatch) as person:
        loop.call_later(0.2, os.write, person, b"\n")
        async with asyncio.timeout(300):
            yes = await ask_person(Question(key="k", text="Go on?", options=("yes", "stop", "redo")))
        for number, words in enumerate((b"\n", b"stop\n"), 1):
            loop.call_later(0.2 * number, os.write, person, words)
        async with asyncio.timeout(300):
            chosen = await ask_person(Question(key="k", text="?", options=("again", "without", "stop")))
    assert (yes, chosen) == (("yes", "", "Bea Lee"), ("stop", "", "Bea Lee"))


@pytest.mark.spec("DAY-12", "USE-6")
def test_trust_shows_what_is_set_and_not_seventy_comments(trued: Trued, project: Path) -> None:
    (project / "trued.toml").write_text("# a comment\n\nrounds = 2\n# cap = 4\n")
    shown = trued("trust", cwd=project).stdout
    assert "rounds = 2" in shown
    assert "cap = 4" not in shown
    assert "3 lines of comments or blanks left out" in shown
    (project / "trued.toml").write_text('[environment]\nprepare = ["""\n# rm -rf /\n"""]\n')
    assert "# rm -rf /" in trued("trust", cwd=project).stdout  # inside a multi-line string, the line may be no comment
    assert not is_comment("rounds = 2 # two")


@pytest.mark.spec("DAY-12")
def test_the_seal_line_counts_each_check_once_however_often_it_was_tried() -> None:
    def sealed(number: int, **cases: int) -> Event:
        data = {"check": "c1", "sort": "examples", "serves": ["a"], "cases": cases}
        return Event(id=number, at=1.0, key="seal", kind="sealed", data=data)

    seen = Progress([sealed(1, unjudged=6, red=1), sealed(2, red=7)])
    assert dict(seen.on_base) == {"red": 7}


def spend(run: str, role: str, agent: str, usd: float, cost: str = "reported") -> Spend:
    amount = Amount(usd=usd, tokens=1000, calls=1)
    return Spend(f"{run}-{role}", 1, f"{role}#1", "", role, agent, "done", Amount(), amount, cost, 1.0)


@pytest.mark.spec("DAY-12")
def test_stats_add_up_runs_by_week_agent_and_role() -> None:
    def run(name: str, at: float, grade: str, **more: object) -> RunRecord:
        fields = {"workflow": "solo", "title": "t", "repository": "/r", "base": "b", "branch": "b"}
        return RunRecord.model_validate(
            {"id": name, "grade": grade, "state": "done", "created_at": at, **fields, **more}
        )

    week = 7 * 86400.0
    facts = [
        RunFacts(
            run("a", 1_794_744_000.0, "proven"),
            3,
            3,
            [spend("a", "solo", "claude", 1.5), spend("a", "examiner", "codex", 0.5)],
        ),
        RunFacts(run("b", 1_794_744_000.0 + week, "unproven"), 1, 4, [spend("b", "solo", "claude", 2.0, "computed")]),
    ]
    found = add_up(facts)
    assert (found.total.runs, found.total.proven, found.total.met, found.total.usd) == (2, 1, 4, 4.0)
    assert found.total.met_per_usd == 1.0
    assert [one.name for one in found.weeks] == [week_of(1_794_744_000.0 + week), week_of(1_794_744_000.0)]
    assert [(one.name, one.runs, one.usd) for one in found.agents] == [("claude", 2, 3.5), ("codex", 1, 0.5)]
    assert [(one.name, one.calls) for one in found.roles] == [("solo", 2), ("examiner", 1)]
    data = json.loads(json.dumps(found.data))
    assert data["total"]["cost"] == "computed"
    assert add_up([]).total.met_per_usd is None


@pytest.mark.spec("DAY-12", "USE-9")
def test_ls_and_stats_show_cost_and_tokens(each: Each, journal: SqliteJournal, project: Path) -> None:
    add(journal, "r-paid", project, "done")
    journal.of("r-paid").spend(lambda rows: spend("r-paid", "solo", "claude", 0.25))
    rows, table, stats, empty = each(["ls", "--json"], ["ls"], ["stats", "--json"], ["stats"], cwd=project)
    (row,) = json.loads(rows.stdout)
    assert (row["cost_usd"], row["cost"], row["tokens"]) == (0.25, "reported", 1000)
    assert "$0.25  1.0k " in table.stdout
    assert json.loads(stats.stdout)["agents"][0]["usd"] == 0.25
    assert "1 call in 1 run" in empty.stdout


@pytest.mark.spec("AGT-6", "USE-9")
@pytest.mark.parametrize("estimated", [True, False])
def test_ls_marks_tokens_that_are_only_estimated(
    each: Each, journal: SqliteJournal, project: Path, estimated: bool
) -> None:
    add(journal, "r-paid", project, "done")
    run = journal.of("r-paid")
    paid = spend("r-paid", "solo", "claude", 0.25)
    run.spend(lambda rows: paid)
    tokens = {"in": 900, "out": 100, "estimated": estimated}
    writer(run)("answered", paid.step, state="done", tokens=tokens)
    rows, table = each(["ls", "--json"], ["ls"], cwd=project)
    assert json.loads(rows.stdout)[0]["tokens_estimated"] is estimated
    assert ("~1.0k " in table.stdout) is estimated


@pytest.mark.parametrize(
    ("used", "paid", "shown"),
    [
        ((26_257, True), [("computed", 0.5), ("reported", 0.25)], ("~26.3k", "~$0.75")),
        ((999, False), [("ceiling", 0.0), ("reported", 0.25)], ("999", "$0.25")),
        ((1_234_567, False), [("ceiling", 2.0)], ("1.23M", "≤$2.00")),
    ],
)
def test_tokens_and_cost_of_a_run_are_the_same_in_ls_show_the_page_and_the_report(
    each: Each,
    journal: SqliteJournal,
    project: Path,
    home: Path,
    used: tuple[int, bool],
    paid: list[tuple[str, float]],
    shown: tuple[str, str],
) -> None:
    (tokens, estimated), (shown_tokens, shown_cost) = used, shown
    add(journal, "r-paid", project, "done")
    run = journal.of("r-paid")
    for number, (cost, usd) in enumerate(paid, start=1):
        in_call = tokens if number == len(paid) else 0
        row = replace(
            spend("r-paid", "solo", "claude", usd),
            call=f"c{number}",
            step=f"solo#{number}",
            spent=Amount(usd=usd, tokens=in_call, calls=1),
            cost=cost,
        )
        run.spend(partial(_decided, row))
        counts = {"in": in_call, "out": 0, "estimated": estimated}
        writer(run)("asked", row.step, role="solo", agent="claude")
        writer(run)(
            "answered", row.step, state="done", role="solo", agent="claude", tokens=counts, cost_usd=usd, cost=cost
        )
    ls, show = each(["ls"], ["show", "r-paid"], cwd=project)
    assert [shown_cost, shown_tokens] == ls.stdout.splitlines()[1].split()[4:6]
    assert f"{shown_tokens} tokens · {shown_cost}" in show.stdout
    reader = Reader(home, {})
    try:
        pages = {address: html_of(reader, address) for address in ("/", "/r/r-paid", "/r/r-paid/spent", "/history")}
        for address, html in pages.items():
            assert shown_tokens in html, address
            assert f">{shown_cost}<" in html, address
    finally:
        reader.close()


def test_an_answer_is_not_taken_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as person:
        os.write(person, b"y\nlooks right\n")
        with pytest.raises(BadInput, match="'y' is an answer, not a name"):
            ask_name_and_reason("", "")
        assert ask_name_and_reason("Yves", "looks right") == ("Yves", "looks right")


@pytest.mark.spec("DAY-9")
def test_an_agent_for_a_role_that_does_not_exist_is_said_before_anything_else(
    each: Each, journal: SqliteJournal, project: Path
) -> None:
    (project / "trued.toml").write_text('[agents]\ndefalt = "claude"\n')
    git(project, "add", "-A")
    git(project, "commit", "-qm", "settings")
    refused = one_sentence(each(["run", "Say hello.", "--yes"], cwd=project)[0])
    trust = refused.partition("--trust ")[2].rstrip(")\n")
    done = each(["run", "Say hello.", "--yes", "--trust", trust], cwd=project)[0]
    assert "there is no role 'defalt' (known: default, " in one_sentence(done)
    assert journal.runs() == []


@pytest.mark.spec("DAY-9", "USE-6")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[agents]\ndefalt = "claude"\n', "there is no role 'defalt'"),
        ("[roles]\nsolos = 'solo'\n", "there is no role 'solos' to replace"),
        ("rounds = 'two'\n", "trued.toml:1"),
        ("round = 2\n", "did you mean"),
    ],
)
def test_settings_that_no_run_could_use_are_not_trusted(each: Each, project: Path, settings: str, said: str) -> None:
    (project / "trued.toml").write_text(settings)
    shown, listed = each(["trust"], ["trust", "--json"], cwd=project)
    assert (shown.returncode, said in shown.stderr, settings.splitlines()[0] in shown.stdout) == (2, True, True)
    (again,) = each(["trust", json.loads(listed.stdout)["digest"]], cwd=project)
    assert said in one_sentence(again)
    assert json.loads(each(["trust", "--json"], cwd=project)[0].stdout)["trusted"] is False


@pytest.mark.spec("DAY-9", "USE-7")
def test_the_doctor_names_a_misspelt_role(each: Each, home: Path, project: Path) -> None:
    (project / "trued.toml").write_text('[agents]\ndefalt = "claude"\n')
    record_trust(home, project, files_to_trust(project).digest, "Bea")
    (seen,) = each(["doctor", "--json"], cwd=project)
    (roles,) = [one for one in json.loads(seen.stdout) if one["name"] == "roles"]
    assert (roles["state"], roles["says"]) == ("broken", "there is no role 'defalt'")
    assert "known: default" in roles["fix"]
    assert seen.returncode == 6


@pytest.mark.spec("DAY-12")
def test_a_question_on_one_line_keeps_its_sentences_apart() -> None:
    text = (
        "No case could be sealed for goal, because: goal: it has no case\nAgents would build it.\nagain: ask\nanother"
    )
    assert sentences_line(text, 0) == (
        "No case could be sealed for goal, because: goal: it has no case. Agents would build it. again: ask another"
    )
    asked = Event(id=1, at=1.0, key="no cases", kind="question", data={"text": text, "options": ["again", "stop"]})
    seen = Progress()
    seen.add(asked)
    for shown in (event_line(asked), waiting(seen)):
        assert "it has no case. Agents would" in shown
