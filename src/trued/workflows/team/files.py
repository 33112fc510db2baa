"""The files of a team in `.trued/team/`: what its members decided, built, tested and accepted, for people to read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trued.model import TeamSettings, Value
from trued.support.lazy_regex import lazy_regex
from trued.support.plurals import counted
from trued.support.timestamps import utc_timestamp
from trued.workflows.team.backlog import render
from trued.workflows.team.backlog.items import Backlog, BacklogFeature, Priority, unescaped
from trued.workflows.team.backlog.reading import NAME
from trued.workflows.team.inbox import Inbox, MessageKind
from trued.workflows.team.log import Log
from trued.workflows.team.quoting import line, quoted, titled_list
from trued.workflows.team.reply_parts import Failure

FOLDER = ".trued/team/"
ROLES = ("pm", "techlead", "dev", "qa", "uat")
NOTES = "To be known"  # the heading above what people and older tools say about the project
RESULTS = 20  # results shown in full, the newest; the history has all of them
LOGS = {
    "decisions": ("pm/decisions.md", "Decisions of the PM"),
    "breakdown": ("pm/feature-breakdown.md", "How the goal was broken down"),
    "specs": ("techlead/specs.md", "Specifications"),
    "architecture": ("techlead/architecture.md", "Architecture decisions"),
    "completed": ("dev/completed.md", "Completed tasks"),
    "tests": ("qa/test-history.md", "Test history"),
    "accepted": ("uat/results.md", "User acceptance"),
    "integration": ("uat/integration-uat.md", "Integration UAT"),
    "history": ("history.jsonl", ""),
}


class Records(Value):
    """What happened in a team, as its files show it. Each method adds one thing; times come from the journal."""

    inboxes: dict[str, Inbox] = {}  # noqa: RUF012
    logs: dict[str, Log] = {}  # noqa: RUF012
    working: dict[str, str] = {}  # noqa: RUF012  task → the work in progress on it
    results: dict[str, str] = {}  # noqa: RUF012  task → its last test if that failed; "" → the last test that passed
    context: str = ""  # the text of context.md: kind and commands of the project, and notes

    # -- what earlier runs left ----------------------------------------------------------------------------------------

    def continued(self, texts: Mapping[str, str]) -> "Records":
        """A copy whose logs continue those of earlier runs. `texts`: path in the folder → content."""
        logs = dict(self.logs)
        for name, (path, title) in LOGS.items():
            if text := texts.get(path):
                stem, _, ending = path.rpartition(".")
                pages = sum(re.fullmatch(rf"{re.escape(stem)}-\d{{3,}}\.{ending}", path) is not None for path in texts)
                numbers = [int(number) for number in _NUMBERS[name].findall(text)] if name in _NUMBERS else []
                logs[name] = Log.continued(text, title, pages=pages, count=max(numbers, default=0))
        return self.model_copy(update={"logs": logs})

    def tail(self, name: str, entries: int) -> str:
        """The last entries of a log, preceded by what earlier runs left on the same page."""
        log = self.logs.get(name, Log())
        return "\n".join((*([log.earlier] if log.earlier else []), *log.entries[-entries:]))

    # -- what happened -------------------------------------------------------------------------------------------------

    def with_project(self, kind: str, commands: Mapping[str, str], notes: Sequence[str] = ()) -> "Records":
        """A copy with the kind of project and its commands, which people can correct in `[commands]` of trued.toml."""
        rows = [f"- **{name}**: `{command.replace('`', chr(39))}`" for name, command in commands.items() if command]
        body = "\n".join((f"- **Kind**: {line(kind or 'unknown')}", *rows))
        text = f"# Context\n\n{body}\n\n{titled_list(NOTES, tuple(notes))}".rstrip() + "\n"
        return self.model_copy(update={"context": text})

    def with_plan(self, planned: Sequence[BacklogFeature], decisions: Sequence[str], when: float) -> "Records":
        features = "\n".join(map(_broken_down, planned))
        records = self._with_entry("breakdown", f"## {utc_timestamp(when)}: the goal as features\n\n{features}\n")
        return records.with_decisions("pm", "the goal", decisions, when)._with_step(
            "planned", when, features=len(planned), tasks=sum(feature.counts[2] for feature in planned)
        )

    def with_decisions(self, role: str, about: str, decisions: Sequence[str], when: float) -> "Records":
        """A copy with the decisions of one role: the PM's as numbered decisions, the tech lead's as ADRs. Decisions of
        other roles are left out."""
        records = self
        for decision in decisions if role in ("pm", "techlead") else ():
            number = records.logs.get(_HOME[role], Log()).count + 1
            title = f"ADR-{number:03}: {line(about)}" if role == "techlead" else f"{number}. {line(about)}"
            records = records._with_entry(
                _HOME[role], f"## {title}\n\n- **Time**: {utc_timestamp(when)}\n\n{quoted(decision)}\n"
            )
        return records

    def with_fix_tasks(self, about: str, tasks: Sequence[str], decisions: Sequence[str], when: float) -> "Records":
        """A copy with fix tasks that the PM made after a validation."""
        rows = "\n".join(f"- {line(task)}" for task in tasks)
        records = self._with_entry("breakdown", f"## {utc_timestamp(when)}: fix tasks for {line(about)}\n\n{rows}\n")
        return records.with_decisions("pm", about, decisions, when)._with_step(
            "fixes", when, about=about, tasks=len(tasks)
        )

    def with_spec(
        self, feature: BacklogFeature, spec: str, tests: Sequence[str], decisions: Sequence[str], when: float
    ) -> "Records":
        head = f"## {feature.id}: {line(feature.name)}\n\n- **Time**: {utc_timestamp(when)}\n"
        records = self._with_entry(
            "specs", "\n".join((head, f"{quoted(spec)}\n", titled_list("Tests that show it", tuple(tests))))
        )
        records = records.with_decisions("techlead", f"{feature.id}, {feature.name}", decisions, when)
        return records._with_step("specified", when, feature=feature.id)

    def with_attempt(self, task: str, name: str, attempt: int, limit: int, when: float) -> "Records":
        row = f"- **{task}**: {line(name)} (attempt {attempt} of {limit}, since {utc_timestamp(when)})"
        return self.model_copy(update={"working": {**self.working, task: row}})

    def with_test(
        self,
        task: str,
        attempt: tuple[int, int],
        failures: Sequence[Failure | str],
        when: float,
        *,
        tried: Sequence[str] = (),
        ended: bool = False,
    ) -> "Records":
        """A copy with what QA and the engine's own checks found in one attempt. `ended`: no attempt follows."""
        passed = "passed" if not failures else "failed for good" if ended else "failed"
        head = f"## {task}, attempt {attempt[0]} of {attempt[1]}: {passed}\n\n- **Time**: {utc_timestamp(when)}\n"
        parts = (head, titled_list("Tried", tuple(tried)), *map(_failure, failures))
        text = "\n".join(part for part in parts if part)
        results = {name: result for name, result in self.results.items() if name not in (task, "")}
        results = dict([*results.items(), (task if failures else "", text)][-RESULTS:])
        working = {name: entry for name, entry in self.working.items() if name != task}
        first = f": {line(_failure_text(failures[0]))}" if failures else ""
        row = f"- {utc_timestamp(when)} **{task}** {attempt[0]}/{attempt[1]} {passed}{first}"
        records = self._with_entry("tests", row).model_copy(update={"results": results, "working": working})
        return records._with_step("tested", when, task=task, attempt=attempt[0], result=passed)

    def with_completed(
        self, task: str, name: str, attempts: int, when: float, *, summary: str = "", files: Sequence[str] = ()
    ) -> "Records":
        head = f"## {task}: {line(name)}\n\n- **Time**: {utc_timestamp(when)}\n- **Attempts**: {attempts}\n"
        text = f"{quoted(summary)}\n" if summary.strip() else ""
        return self._with_entry(
            "completed", "\n".join(part for part in (head, text, titled_list("Files", tuple(files))) if part)
        )

    def with_validation(
        self,
        feature: str,
        decision: str,
        when: float,
        *,
        tried: Sequence[str] = (),
        issues: Sequence[Failure | str] = (),
        not_met: Sequence[str] = (),
    ) -> "Records":
        """A copy with the UAT result of `feature`; "" means all features together."""
        head = f"## {line(feature or 'All features')}: {line(decision)}\n\n- **Time**: {utc_timestamp(when)}\n"
        parts = (
            head,
            titled_list("Tried", tuple(tried)),
            *map(_failure, issues),
            titled_list("Not met", tuple(not_met)),
        )
        text = "\n".join(part for part in parts if part)
        records = self._with_entry("accepted" if feature else "integration", text)
        return records._with_step("uat", when, feature=feature, result=decision, issues=len(issues) + len(not_met))

    def with_message(
        self,
        role: str,
        sender: str,
        text: str,
        when: float,
        *,
        kind: MessageKind = "question",
        priority: Priority = "medium",
    ) -> "Records":
        """A copy with a message to a role. A question stays pending until it is answered."""
        inbox = self.inbox(role).with_message(sender, text, when, kind=kind, priority=priority)
        records = self.model_copy(update={"inboxes": {**self.inboxes, role: inbox}})
        return records._with_step(kind, when, role=role, sender=sender)

    def with_answer(self, role: str, answer: str, when: float) -> "Records":
        inbox = self.inbox(role).addressed(answer)
        return self.model_copy(update={"inboxes": {**self.inboxes, role: inbox}})._with_step(
            "answered", when, role=role
        )

    def _with_step(self, step: str, when: float, **data: Any) -> "Records":
        """A copy with one more line in the history; its keys are sorted, so that a replay writes the same bytes."""
        number = self.logs.get("history", Log()).count + 1
        row = {"n": number, "time": utc_timestamp(when), "step": step, **{key: data[key] for key in sorted(data)}}
        return self._with_entry("history", json.dumps(row, ensure_ascii=True))

    def inbox(self, role: str) -> Inbox:
        return self.inboxes.get(role) or Inbox(role=role)

    def _with_entry(self, name: str, text: str) -> "Records":
        log = self.logs.get(name, Log()).with_entry(text)
        return self.model_copy(update={"logs": {**self.logs, name: log}})

    # -- the files -----------------------------------------------------------------------------------------------------

    def files(self, goal: str, backlog: Backlog, settings: TeamSettings) -> dict[str, str]:
        """All files, by path. For a log, only the last full page and the current one are included."""
        files = {
            "goal.md": goal if goal.endswith("\n") else f"{goal}\n",
            NAME: render(backlog),
            "feature-status.md": feature_status(backlog, self.working),
            "config.toml": config_view(settings),
            "context.md": self.context or "# Context\n\nNothing is known yet.\n",
            "dev/progress.md": _progress(self.working.values()),
            "qa/results.md": _results(self.results, self.logs.get("tests", Log()).count),
        }
        for name, (path, title) in LOGS.items():
            files |= self.logs.get(name, Log()).files(path, title)
        for role in ROLES:
            files |= self.inbox(role).files("")
        return {f"{FOLDER}{path}": text for path, text in files.items()}


_HOME = {"pm": "decisions", "techlead": "architecture"}
_NUMBERS = {  # log with numbered entries → the pattern of an entry's number
    "decisions": lazy_regex(r"^## (\d{1,6})\.", re.MULTILINE),
    "architecture": lazy_regex(r"^## ADR-(\d{1,6})", re.MULTILINE),
    "history": lazy_regex(r'^\{"n": (\d{1,9})', re.MULTILINE),
}


def context_notes(text: str) -> tuple[str, ...]:
    """What a context file says beyond the kind of project and its commands: one line each."""
    _, marker, rest = text.partition(f"{NOTES}:\n")
    if not marker and "- **Kind**:" in text:
        return ()
    lines = [line.strip().removeprefix("- ").strip() for line in (rest if marker else text).splitlines()]
    return tuple(unescaped(row) if marker else row for row in lines if row and not row.startswith("#"))


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The files that are new or differ from before."""
    return {path: text for path, text in now.items() if before.get(path) != text}


def feature_status(backlog: Backlog, working: Iterable[str] = ()) -> str:
    """`feature-status.md`: features by status. Features in progress have story counts and current tasks; failed ones
    have story counts."""
    at_work = [*working]
    groups: dict[str, list[str]] = {"completed": [], "in_progress": [], "pending": [], "failed": []}
    for feature in backlog.features:
        status, row = feature.row
        if status in ("in_progress", "failed"):
            row += f"\n  - stories: {feature.stories_done}/{len(feature.stories)}"
        if status == "in_progress":
            row += f"\n  - current: {_current(feature, at_work)}"
        groups[status].append(row)
    titles = {"completed": "Completed", "in_progress": "In progress", "pending": "Pending", "failed": "Failed"}
    parts = [f"## {title}\n\n" + ("\n".join(groups[name]) or "None.") for name, title in titles.items()]
    done, failed, every, completed = backlog.tally
    whole = f"{completed} of {len(backlog.features)} features are completed; "
    whole += f"{done} of {every} tasks are done{f', {failed} have failed' if failed else ''}."
    return "\n\n".join(("# Feature status", whole, *parts)) + "\n"


def _current(feature: BacklogFeature, at_work: Sequence[str]) -> str:
    tasks = [task for task in feature.tasks if task.id in at_work] or [task for task in feature.tasks if task.is_open][
        :1
    ]
    return "; ".join(f"{task.id}, {line(task.description)}" for task in tasks) or "its acceptance"


def _broken_down(feature: BacklogFeature) -> str:
    rows = [f"- **{feature.id}**: {line(feature.name)} ({feature.priority}"]
    rows[0] += f", needs {', '.join(feature.depends_on)})" if feature.depends_on else ")"
    rows += [f"  - {story.id}: {line(story.name)}, {counted(len(story.tasks), 'task')}" for story in feature.stories]
    return "\n".join(rows)


def _failure_text(failure: Failure | str) -> str:
    return failure if isinstance(failure, str) else failure.what


def _failure(failure: Failure | str) -> str:
    """A failure: how to reproduce it, what is expected, and what happens."""
    rows = [f"- **Failure**: {line(_failure_text(failure))}"]
    if isinstance(failure, Failure):
        rows += [f"  - where: {line(failure.where)}"] if failure.where else []
        rows += [f"  - {number}. {line(step)}" for number, step in enumerate(failure.reproduction, 1)]
        rows += [f"  - expected: {line(failure.expected)}"] if failure.expected else []
        rows += [f"  - actual: {line(failure.actual)}"] if failure.actual else []
    return "\n".join(rows) + "\n"


def _progress(rows: Iterable[str]) -> str:
    body = "\n".join(rows)
    return f"# In progress\n\n{body or 'Nobody works on a task right now.'}\n"


def _results(results: Mapping[str, str], tests: int) -> str:
    note = "\nOlder results are in test-history.md.\n" if tests > len(results) else ""
    return "\n".join((f"# Test results\n{note}", *(results.values() or ["Nothing was tested yet.\n"])))


def config_view(settings: TeamSettings) -> str:
    """The settings as they would be written in trued.toml. Only for people to read."""
    rows = [
        "# The settings of this team. To change them, edit [team] in trued.toml.",
        "[team]",
        f"attempts = {settings.attempts}",
        f"heal = {_toml(settings.heal)}",
        f"uat.after_feature = {_toml(settings.uat_after_feature)}",
        f"uat.after_all = {_toml(settings.uat_after_all)}",
        f"uat.cycles = {settings.cycles}",
        *(f"roles.{role} = {_toml(role not in settings.off)}" for role in ROLES),
    ]
    return "\n".join(rows) + "\n"


def _toml(value: bool) -> str:
    return "true" if value else "false"
