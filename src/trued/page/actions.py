"""What a person can do from the page: each action calls the same engine function, or command, as the command line.

A form names its action (`data-do`) and the action's fields:

    answer   run, key (the question's), answer, comment
    comment  run, call, role, comment, when (next: in the role's next brief; now: the call stops, then continues)
    cancel   run
    resume   run
    limit    run, limit (usd=5; one or more)
    approve  run, requirement (one or more) or contract (the hash of what was shown), commit, who, reason, instead
    reject   run, requirement (one or more), commit, who, reason, instead
    amend    run, criterion, remove, keep, supersedes, who, reason
    trust    run, digest
    land     run, agree

`commit`: the commit that the person has reviewed; if the run has moved on since, nothing is decided. `instead`: whether
to replace an earlier decision. `criterion`, `remove`, `keep`, `supersedes` and `agree` are options of the command.
"""

import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join

from trued.engine.approvals import Decision, answer_question, decide, is_settled
from trued.engine.comments import record_comment
from trued.engine.impersonation import refuse_if_agent_could_answer
from trued.engine.limits import LimitStep, change_limits, limit_steps
from trued.engine.pending import STOP
from trued.engine.run_store import RunStore
from trued.engine.trust import files_to_trust
from trued.errors import BadInput
from trued.inputs.settings.limits import parse_limits
from trued.model import Contract, RunRecord
from trued.model.records import WHOLE_CONTRACT
from trued.proof.hashes import contract_hash
from trued.run.examination.no_cases import WITHOUT
from trued.support.plain_text import plain, plain_line

LONGEST = 4_000  # maximum length of one field, in characters
MOST = 200  # maximum number of values of one field
LINE = 500  # maximum length of one line in the terminal, in characters
NAME = 80  # maximum length of a person's name, in characters
IDS = 30  # when the whole contract is approved, at most this many requirements are named; the others are counted
MARKS = 3  # at most this many accents of one letter are kept
AT_ONCE_S = 5.0  # a command that has not ended by then counts as started


@dataclass(frozen=True)
class Action:
    """One thing to do: at once, or after the person has confirmed it in the terminal (`needs_confirmation`)."""

    words: str  # a description for the terminal, in one sentence or a few lines
    command: tuple[str, ...]  # the equivalent command
    do: Callable[[RunStore], str]  # carries out the action and returns a sentence about the result
    needs_confirmation: bool = False

    @property
    def command_line(self) -> str:
        return join(self.command)


class Fields:
    """The fields of a form, as the browser sent them. They are untrusted."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._given = fields

    def text(self, name: str, default: str = "") -> str:
        text = self._given.get(name, default)
        if not isinstance(text, str) or len(text) > LONGEST:
            raise BadInput(f"{name} is not text, or is longer than {LONGEST} characters")
        return text.strip()

    def needed(self, name: str) -> str:
        if not (text := self.text(name)):
            raise BadInput(f"{name} is missing", then="fill it in")
        return text

    def line(self, name: str, default: str = "") -> str:
        """The field as one visible line, which cannot imitate another line of the terminal or scroll other lines away.
        Raises BadInput if it is missing or too long."""
        line, most = terminal_line(self.text(name) or default), NAME if name == "who" else LINE
        if len(line) > most:
            raise BadInput(f"{name} is longer than {most} characters", then="shorten it")
        if not line:
            raise BadInput(f"{name} is missing", then="fill it in")
        return line

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._given.get(name, [])
        values = value if isinstance(value, list) else [value]
        texts = [text.strip() for text in values if isinstance(text, str) and len(text) <= LONGEST]
        if len(texts) != len(values) or len(texts) > MOST:
            raise BadInput(f"{name} is not a list of texts, or has more than {MOST} entries")
        return tuple(dict.fromkeys(filter(None, texts)))

    def lines(self, name: str) -> tuple[str, ...]:
        """The field's values. Raises BadInput unless each is one line that the terminal shows unchanged."""
        lines = self.texts(name)
        if any(line != terminal_line(line) or len(line) > LINE for line in lines):
            raise BadInput(f"{name} must be one line of at most {LINE} visible characters")
        return lines

    def is_on(self, name: str) -> bool:
        return self._given.get(name) in (True, "true", "on", "yes")


@dataclass(frozen=True)
class Actions:
    """Creates actions from forms. An action does nothing before its `do` is called."""

    home: Path
    environ: Mapping[str, str]
    who: str  # the person who started the page

    def prepare(self, store: RunStore, name: str, fields: Mapping[str, object]) -> Action:
        """The action with this name. Raises BadInput if it is unknown or cannot be done now."""
        makers: dict[str, Callable[[RunStore, Fields], Action]] = {
            "answer": self._answer,
            "approve": self._approve,
            "reject": self._reject,
            "comment": self._comment,
            "cancel": self._cancel,
            "resume": self._resume,
            "limit": self._limit,
            "amend": self._amend,
            "trust": self._trust,
            "land": self._land,
        }
        if name not in makers:
            raise BadInput(f"there is no action {name!r}", then=f"there are {', '.join(makers)}")
        action = makers[name](store, Fields(fields))

        def do(store: RunStore) -> str:
            """Do exactly what the terminal showed. Raises BadInput if the run has moved on since."""
            prepared = makers[name](store, Fields(fields))
            if (prepared.words, prepared.command) != (action.words, action.command):
                raise BadInput("the run has moved on since you were asked", then="look at it again")
            return action.do(store)

        return replace(action, do=do) if action.needs_confirmation else action

    # -- steer ---------------------------------------------------------------------------------------------------------

    def _answer(self, store: RunStore, fields: Fields) -> Action:
        """An answer is recorded at once. Only the answer `without` (build without cases) needs confirmation, because
        nothing can prove work without cases."""
        record, key, answer = self._run(store, fields), fields.needed("key"), fields.needed("answer")
        comment = fields.text("comment")

        def do(store: RunStore) -> str:
            question = answer_question(store, record.id, answer, comment=comment, who=self.who, key=key)
            if question.options and question.answer == STOP:
                return f"{question.who} answered: {STOP}"
            goes_on = store.journal.driver(record.id) or store.journal.queue_of(record.id)
            then = "the run continues" if goes_on else "the run continues when it is resumed"
            return f"{question.who} answered: {question.answer}; {then}"

        argv = ("trued", "answer", record.id, "--question", key, answer)
        description = terminal_line(
            f"{self.who} answers {key} of {record.id}: {answer}{f' ({comment})' if comment else ''}"
        )
        return Action(description, (*argv, *_option("--comment", comment)), do, needs_confirmation=answer == WITHOUT)

    def _comment(self, store: RunStore, fields: Fields) -> Action:
        record, text, is_now = self._run(store, fields), fields.needed("comment"), fields.text("when") == "now"
        to = fields.needed("call") if is_now else fields.text("role")

        def do(store: RunStore) -> str:
            record_comment(store, store.journal.run(record.id), text, who=self.who, to=to, now=is_now, way="page")
            return "the call stops, and continues with your comment" if is_now else "it goes into the next brief"

        argv = ("trued", "comment", record.id, text, *_option("--to", to), *(("--now",) if is_now else ()))
        return Action(f"comment for {to or 'every role'} of {record.id}: {text}", argv, do)

    def _cancel(self, store: RunStore, fields: Fields) -> Action:
        record = self._run(store, fields)
        if record.has_ended:
            raise BadInput(f"run {record.id} is {record.state} already")
        return self._command_action(f"cancel {record.id}", ("trued", "cancel", record.id))

    def _resume(self, store: RunStore, fields: Fields) -> Action:
        record = self._run(store, fields)
        if store.journal.driver(record.id):
            raise BadInput(f"run {record.id} is running already")
        if record.has_ended:
            raise BadInput(f"run {record.id} is {record.state}: there is nothing to resume")
        return self._command_action(
            f"resume {record.id}", ("trued", "resume", record.id), started=f"the run {record.id} was resumed"
        )

    def _limit(self, store: RunStore, fields: Fields) -> Action:
        """A limit is lowered at once; raising it may cost more and needs confirmation."""
        record, limits = self._run(store, fields), fields.texts("limit")
        changes = parse_limits(limits)
        if not changes:
            raise BadInput("a limit is missing", then="write usd=5, tokens=2M, calls=20 or time=2h")
        steps = limit_steps(store, record, changes)
        needs_confirmation = any(step.is_higher for step in steps)
        if needs_confirmation:
            refuse_if_agent_could_answer(store, record)
        description = "; ".join(_limit_change(step) for step in steps)

        def do(store: RunStore) -> str:
            changed = change_limits(
                store, store.journal.run(record.id), changes, self.who, may_raise=needs_confirmation
            )
            return "; ".join(_limit_change(step) for step in changed)

        sentence = f"{self.who} changes the limits of {record.id}: {description}"
        return Action(sentence, ("trued", "limit", record.id, *limits), do, needs_confirmation)

    # -- confirm -------------------------------------------------------------------------------------------------------

    def _approve(self, store: RunStore, fields: Fields) -> Action:
        return self._decision_action(store, fields, rejected=False)

    def _reject(self, store: RunStore, fields: Fields) -> Action:
        return self._decision_action(store, fields, rejected=True)

    def _decision_action(self, store: RunStore, fields: Fields, *, rejected: bool) -> Action:
        record = self._run(store, fields)
        wanted = tuple(name for name in fields.texts("requirement") if name != WHOLE_CONTRACT)
        decision = Decision(
            fields.line("who", self.who),
            fields.line("reason"),
            rejected=rejected,
            instead=fields.is_on("instead"),
            way="page",
        )
        contract = store.sealed_contract(record.id)
        if rejected and not wanted:
            raise BadInput("a requirement is missing", then="name what is not met")
        if not wanted and fields.needed("contract") != contract_hash(contract):
            raise BadInput(
                "the run has moved on since you looked at it: its contract has changed", then="read it again"
            )
        refuse_if_agent_could_answer(store, record)
        description = _decision_words(store, record, contract, wanted, decision)
        latest, looked_at = store.latest_verdicts(record.id), fields.text("commit")
        commits = {name: latest[name].commit if name in latest else "" for name in wanted}
        shown_decision = replace(decision, contract=contract_hash(contract), commits=commits)
        if looked_at and any(name in latest and latest[name].commit != looked_at for name in wanted):
            raise BadInput("the run has moved on since you looked at it", then="look at it again")

        def do(store: RunStore) -> str:
            approvals = decide(store, record.id, wanted or [None], shown_decision)
            if is_settled(store, approvals):
                self._start(("trued", "resume", record.id))
            return f"recorded: {approvals.id} is {approvals.grade or approvals.state}"

        verb = "reject" if rejected else "approve"
        signed = ("--as", decision.who, "--reason", decision.why, *(("--instead",) if decision.instead else ()))
        return Action(description, ("trued", verb, record.id, *wanted, *signed), do, needs_confirmation=True)

    def _amend(self, store: RunStore, fields: Fields) -> Action:
        record, who, why = self._run(store, fields), fields.line("who", self.who), fields.line("reason")
        refuse_if_agent_could_answer(store, record)
        changes = [
            (flag, line) for flag in ("criterion", "remove", "keep", "supersedes") for line in fields.lines(flag)
        ]
        if not changes:
            raise BadInput("a change is missing", then="name a criterion, or a requirement to remove or keep")
        listed = "\n".join(f"    {flag} {line}" for flag, line in changes)
        flags = tuple(part for flag, line in changes for part in (f"--{flag}", line))
        sealed = store.contract(record.id)
        name = contract_hash(sealed) if sealed else ""
        command = ("trued", "amend", record.id, *flags, *_option("--contract", name), "--as", who, "--reason", why)
        description = f"{who} amends the contract{f' {name[:10]}' if name else ''} of {record.id}: {why}\n{listed}"
        return self._command_action(description, command, needs_confirmation=True)

    def _trust(self, store: RunStore, fields: Fields) -> Action:
        record, digest = self._run(store, fields), fields.needed("digest")
        what = files_to_trust(Path(record.repository))
        if what.digest != digest:
            raise BadInput(f"the files there have another digest: {what.digest}", then="look at them again")
        refuse_if_agent_could_answer(store, record)
        names = terminal_line(", ".join(map(str, what.files)))
        description = f"{self.who} trusts {names} of {terminal_line(record.repository)}, digest {digest}"
        return self._command_action(
            description, ("trued", "trust", digest, "--repo", record.repository), needs_confirmation=True
        )

    def _land(self, store: RunStore, fields: Fields) -> Action:
        record, agree = self._run(store, fields), "".join(fields.lines("agree")[:1])
        refuse_if_agent_could_answer(store, record)
        agreed = f", and agrees to the changes with digest {agree}" if agree else ""
        description = f"{self.who} lands {record.id} ({record.head[:10] or record.base[:10]}){agreed}"
        command = ("trued", "land", record.id, *_option("--commit", record.head), *_option("--agree", agree))
        return self._command_action(description, command, needs_confirmation=True)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _run(self, store: RunStore, fields: Fields) -> RunRecord:
        """The run with exactly this id. The beginning of an id is not enough; only the command line accepts that."""
        name = fields.needed("run")
        record = store.journal.run(name)
        if record.id != name:
            raise BadInput(f"there is no run {name!r}")
        return record

    def _command_action(
        self, description: str, command: tuple[str, ...], *, needs_confirmation: bool = False, started: str = ""
    ) -> Action:
        """An action that starts this command. `started`: what the action returns if the command is still running
        after AT_ONCE_S."""

        def do(store: RunStore) -> str:
            return self._start(command, started)

        return Action(description, command, do, needs_confirmation)

    def _start(self, command: tuple[str, ...], started_words: str = "") -> str:
        """Start the command in a session of its own, without a terminal: it outlives the page and asks no questions.

        Returns a sentence about its result, or `started_words` if it continues to run. Raises BadInput, with the
        command's message, if the command refuses its input at once.
        """
        with tempfile.TemporaryFile() as output:
            started = subprocess.Popen(
                [sys.executable, "-P", "-m", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(self.environ),
                start_new_session=True,
            )
            try:
                code = started.wait(AT_ONCE_S)
            except subprocess.TimeoutExpired:
                return started_words or f"started: {join(command)}"
            output.seek(0)
            lines = plain(output.read().decode("utf-8", "replace")).strip().splitlines() or [f"exit code {code}"]
        if code == BadInput.code:
            raise BadInput(lines[-1].removeprefix("trued: "))
        return f"done: {join(command)}" if code == 0 else lines[-1]


def terminal_line(text: str) -> str:
    """The text on one line; each stretch of characters that a terminal does not show becomes one space.

    Letters, numbers, punctuation and symbols are kept, each with a few accents at most. Characters that Unicode calls
    blanks or fillers are not kept.
    """
    found: list[str] = []
    marks = 0
    for character in plain(text):
        category = unicodedata.category(character)
        marks = marks + 1 if category[0] == "M" else 0
        blank = {"FILLER", "BLANK", "NULL", "JOINER", "SELECTOR"} & set(
            unicodedata.name(character, "").replace("-", " ").split()
        )
        if category[0] in "LNPS" and not blank:
            found.append(character)
        elif category[0] == "M":
            found.append(character if found and found[-1] != " " and marks <= MARKS and not blank else "")
        else:
            found.append(" ")
    return " ".join("".join(found).split())


def _option(flag: str, value: str) -> tuple[str, ...]:
    return (flag, value) if value else ()


def _limit_change(step: LimitStep) -> str:
    name = f"{step.scope}:{step.what}" if step.scope else step.what
    return f"{name}: {f'{step.before:,g}' if step.before else 'no limit'} → {step.to:,g}"


def _decision_words(
    store: RunStore, record: RunRecord, contract: Contract, wanted: tuple[str, ...], decision: Decision
) -> str:
    """What the journal would record: who, what, at which commit and why. One line for each requirement, or a single
    line for the whole contract. Raises BadInput for an unknown requirement."""
    verb = "rejects" if decision.rejected else "accepts"
    if not wanted:
        ids = [requirement.id for requirement in contract.requirements]
        cases = ", ".join(ids[:IDS]) + (f" and {len(ids) - IDS} more" if len(ids) > IDS else "")
        name = contract_hash(contract)[:10]
        return f"{decision.who} approves the contract {name} of {record.id} ({cases}): {decision.why}"
    requirements = {requirement.id: requirement for requirement in contract.requirements}
    latest = store.latest_verdicts(record.id)
    if unknown := [name for name in wanted if name not in requirements]:
        raise BadInput(f"run {record.id} has no requirement {unknown[0]!r}", then=f"it has {', '.join(requirements)}")
    lines = []
    for requested in wanted:
        commit = latest[requested].commit[:10] if requested in latest else "no commit"
        text = plain_line(terminal_line(requirements[requested].text), LINE)
        lines.append(f"{decision.who} {verb} {requested} of {record.id} at {commit}: {decision.why} [{text}]")
    return "\n".join(lines)
