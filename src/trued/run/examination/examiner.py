"""Asks an examiner for cases for requirements that have none, and a second examiner to answer them blind."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from trued.model import (
    Author,
    BrowserCheck,
    Case,
    Check,
    Contract,
    ExamplesCheck,
    Finding,
    HttpCase,
    Requirement,
    Requirements,
    Value,
)
from trued.model.step_keys import EXAMINERS
from trued.proof.hashes import check_hash
from trued.proof.text.commit_texts import text_files
from trued.run.context import RunContext
from trued.run.examination.admissibility import (
    CaseRules,
    WeighedCases,
    describe_shown,
    is_open,
    leftover_requirements,
    split,
)
from trued.run.examination.independence import implementer_vendors, is_independent
from trued.run.examination.replies import Answers, Blind, Examined, Proposal, Proposed
from trued.run.examination.second_examiner import (
    STATUS,
    Doubt,
    cases_of,
    compare_answers,
    is_known_from,
    proving_cases,
    questions,
)
from trued.run.examination.start_command import FoundServer, server_finder
from trued.run.session import Session
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.plain_text import plain_line
from trued.support.plurals import counted

EXAMINER, SECOND = EXAMINERS
NOT_CHOSEN = ": no agent of another vendor chose an input; "  # follows a requirement's id
NO_SERVER = "no server could be started: "
REASON = 300  # characters of an examiner's reason for a proposal
_CODE = ".py .js .mjs .cjs .ts .tsx .jsx .go .rb .rs .sh .html"
_WORDS = ".toml .json .cfg .ini .md .rst .txt .yaml .yml"
TEXTS = frozenset(("", *_CODE.split(), *_WORDS.split()))


class ExaminerRequirement(Value):
    """A requirement as an examiner sees it."""

    id: str
    words: str
    where: str = ""


@dataclass(frozen=True)
class Examination:
    """The result of an examination: requirements with the new checks, who wrote them, and notes."""

    asked: Requirements
    authors: Mapping[str, Author] = field(default_factory=dict)
    caps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()
    sessions: tuple[Session[Examined] | Session[Answers], ...] = ()

    @property
    def hides(self) -> list[tuple[str, str]]:
        """For each session that saw a case: its clone and the key of its calls. Implementers must not be able to read
        the files of these sessions."""
        return [(session.clone, f"{session.steps.path}{session.role.name}") for session in self.sessions]

    @property
    def is_fruitless(self) -> bool:
        """Whether an examiner was asked, but none of its cases is left."""
        return bool(self.sessions) and not self.authors

    @property
    def examiners(self) -> tuple[str, ...]:
        """The agents that were asked for cases."""
        return tuple(dict.fromkeys(session.agent for session in self.sessions if session.role.name == EXAMINER))

    async def close(self) -> None:
        """End the examiners' sessions."""
        for session in self.sessions:
            await session.close()


async def examine(steps: Steps, asked: Requirements) -> Examination:
    """The requirements, with an examiner's cases for those that have no check. If no agent plays the examiner, the
    requirements stay as they are, with a note.
    """
    if not any(is_open(requirement) and not requirement.parts for requirement in asked.requirements):
        return Examination(asked)
    if EXAMINER not in steps.context.roles or not steps.context.settings.agent_for(EXAMINER):
        return Examination(asked, undecided=("no agent plays the examiner: nobody wrote cases for what has none",))
    return await ExaminerConversation(steps.apart(), asked).run()


@dataclass(frozen=True)
class EarlierCases:
    """Cases that agents wrote for a contract earlier. They stay their authors' cases, whoever is asked for more."""

    reply: Examined
    authors: Mapping[str, Author]  # the content of a case, as `content_of` gives it → its author

    @classmethod
    def of(cls, contract: Contract, *proposals: Proposed) -> Self:
        """`proposals`: the cases to keep. Authors are known for all cases of the contract, so that nobody becomes the
        author of a case by repeating it."""
        authors: dict[str, Author] = {}
        for check in (check for requirement in contract.requirements for check in requirement.checks):
            author = contract.authors.get(check_hash(check))
            for case in _cases_in(check) if author else ():
                known = authors.get(content_of(case))
                if author and (known is None or known.independent):  # of two authors, the one that is not independent
                    authors[content_of(case)] = author
        return cls(Examined(cases=proposals), authors)


def _cases_in(check: Check) -> tuple[Case | BrowserCheck, ...]:
    if isinstance(check, ExamplesCheck):
        return check.cases
    return (check,) if isinstance(check, BrowserCheck) else ()


def content_of(case: Case | BrowserCheck) -> str:
    """What a case asks and expects, as text. The words that it quotes and its time limit do not make it another one."""
    return case.model_dump_json(exclude={"quotes", "within_s", "setup", "visible"})


def author_of_all(authors: Sequence[Author]) -> Author:
    """The author as whose work cases of several authors count: one that is not independent, if there is one. Only
    agents that confirmed the cases of every author confirmed them all."""
    weakest = min(authors, key=lambda author: author.independent)
    agreed = tuple(agent for agent in weakest.agreed if all(agent in author.agreed for author in authors))
    return weakest.model_copy(update={"agreed": agreed})


class ExaminerConversation:
    """One examiner's conversation about one contract. The examiner works on the base; the run's head stays the same."""

    def __init__(
        self,
        steps: Steps,
        asked: Requirements,
        *,
        before: EarlierCases | None = None,
        own: Sequence[Proposed] = (),
        is_dispute: bool = False,
        agent: str = "",
    ) -> None:
        """`before`: cases of the contract, which are kept. `own`: the second examiner's own cases so far, which are
        kept, too.

        `is_dispute`: an implementer disputes the cases. If there is no second examiner, the examiner's own agent
        answers blind, in a fresh session. It also answers the second examiner's own cases. `agent`: used instead of the
        agent that the settings name for the examiner."""
        self.steps, self.asked, self.context = steps, asked, steps.context
        steps.state.position.head = self.context.workspace.base
        self.first = Session(steps, EXAMINER, Examined, publishes=False, agent=agent)
        self.second = _second_session(steps, self.first.agent, always=is_dispute)
        self.replies = [before.reply] if before else []
        self.authors = before.authors if before else {}
        self.is_dispute = is_dispute
        self.own = [part for proposal in own for part in split(proposal)]
        self.put: list[Proposed] = []  # proposals that the second examiner has answered, in their original form
        # (proposal in `put`, index of a case), for each case that the second examiner answered like the author
        self.alike: list[tuple[Proposed, int]] = []
        self.notes: list[str] = []
        self.others: list[Session[Answers]] = []  # further sessions that answered blind

    async def run(self) -> Examination:
        """Ask for cases, put them to the second examiner, and return the result."""
        return await self.examination_of(await self.ask_for_cases())

    async def examination_of(self, weighed: WeighedCases) -> Examination:
        """Put these cases to the second examiner, if there is one, and return the result."""
        if self.second and weighed.kept:
            weighed = await self.put_to_second_examiner(weighed)
        elif weighed.kept:
            why = "none is named, and the run has no agent of another vendor"
            self.notes.append(f"no second examiner answered the cases blind: {why}")
        return self.assemble(weighed)

    async def ask_for_cases(self, *gaps: Finding) -> WeighedCases:
        """The examiner's cases that the rules keep. If they have faults, the examiner is asked once to fix them."""
        weighed = await self._ask(*gaps)
        if self.replies and weighed.faults:
            weighed = await self._ask(
                *(Finding(what=fault.what, requirement=fault.requirement) for fault in weighed.faults)
            )
        return weighed

    async def _ask(self, *gaps: Finding, doubts: Sequence[Doubt] = ()) -> WeighedCases:
        fixed = "\n".join(self.asked.interface)
        reply = await self.first.ask_or_none(self.context.goal, requirements=self._wanted, interface=fixed, gaps=gaps)
        if reply is None:
            self.notes.append(f"the examiner ({self.first.agent}) gave no answer that can be used")
        else:
            self.replies.append(reply)
        return await self.weigh(doubts)

    @property
    def _wanted(self) -> list[ExaminerRequirement]:
        return [
            ExaminerRequirement(id=requirement.id, words=requirement.text, where=str(requirement.source))
            for requirement in self.asked.requirements
            if is_open(requirement)
        ]

    async def weigh(self, doubts: Sequence[Doubt]) -> WeighedCases:
        """Apply the rules to all replies so far, with the second examiner's doubts, as a durable step."""
        data = [model.model_dump(mode="json") for model in (*self.replies, *self.own, *doubts)]

        async def step() -> WeighedCases:
            workspace = self.context.workspace
            base = await text_files(workspace, workspace.base, TEXTS)  # a case may call what these files name
            asked = await self._with_server()
            users = self.context.requirements.interface if self.context.requirements else ()
            rules = CaseRules(asked, self.context.goal.text, base, named=users)
            return rules.weigh(self.replies, doubts, self.own)

        weighed = await self.steps.compute(WeighedCases, self.steps.key("weighed"), digest(data), step)
        # Drop the earlier note about a missing server: this round may name one.
        self.notes = [note for note in self.notes if not note.startswith(NO_SERVER)]
        if weighed.serve is None and self._needs_server:
            self.notes.append(f"{NO_SERVER}{(await self._server()).why}")
        return weighed

    async def _with_server(self) -> Requirements:
        """The requirements. If a case needs a server and the user names none, the server that the base's files show is
        added. It was tried on the base, unlike a server that an agent names."""
        if not self._needs_server:
            return self.asked
        return self.asked.model_copy(update={"serve": (await self._server()).serve})

    @property
    def _needs_server(self) -> bool:
        """Whether a case needs a server and the user names none."""
        proposals = (*(proposal for reply in self.replies for proposal in reply.cases), *self.own)
        cases = [case for proposal in proposals for case in cases_of(proposal)]
        return self.asked.serve is None and any(isinstance(case, HttpCase | BrowserCheck) for case in cases)

    async def _server(self) -> FoundServer:
        return await server_finder(self.steps, self.asked.environment)()

    # -- the second examiner -------------------------------------------------------------------------------------------

    async def put_to_second_examiner(self, weighed: WeighedCases) -> WeighedCases:
        """Have the second examiner answer the cases, and return the cases that are left.

        - A case that the second examiner answers like the author stays.
        - A case that the second examiner answers differently is withdrawn with a note. The examiner writes new cases
          for the same clause, and the second examiner answers the new cases, too.
        - A case of which the second examiner is not sure stays, but does not count as confirmed. The case is dropped
          if the other cases show as much without it.
        - A set-up exchange of which the second examiner expects another status stays, but its status is no longer
          checked.

        The second examiner's own cases are added. If one of them is withdrawn later, no new case is asked for: only the
        second examiner can replace it.
        """
        before = len(self.own)
        doubts = await self._doubts(weighed)
        otherwise = [
            doubt for doubt in doubts if doubt.what == "otherwise" and doubt.why != STATUS and doubt.of not in self.own
        ]
        if not otherwise:
            return await self.weigh(doubts) if doubts or len(self.own) > before else weighed
        quotes = Counter(cases_of(doubt.of)[doubt.number].quotes for doubt in otherwise)
        gaps = [
            Finding(
                what="another reading of the words gives another result: "
                f"write {counted(number, 'other case')} for “{quote}”"
            )
            for quote, number in quotes.items()
        ]
        weighed_again = await self._ask(*gaps, doubts=doubts)
        return await self.weigh((*doubts, *await self._doubts(weighed_again)))

    async def _doubts(self, weighed: WeighedCases) -> list[Doubt]:
        """The second examiner's doubts about the cases that it has not answered before. Takes its own cases."""
        assert self.second is not None  # noqa: S101  (checked by the caller)
        fresh = [
            (origin, run) for origin, run in zip(weighed.origins, weighed.kept, strict=True) if origin not in self.put
        ]
        if not fresh:
            return []
        reply = await self._answer_blind(self.second, [run for _, run in fresh], weighed)
        if reply is None:
            return []
        doubts = self._compared(fresh, reply.answers)
        self._take_own(reply.cases, weighed.kept)
        doubted = [doubt.of for doubt in doubts]
        disputed = [(origin, run) for origin, run in fresh if origin in self.own and origin not in doubted]
        if self.is_dispute and disputed:
            other: Session[Answers] = Session(self.steps, SECOND, Answers, publishes=False, agent=self.first.agent)
            self.others.append(other)
            reply = await self._answer_blind(other, [run for _, run in disputed], weighed)
            doubts += self._compared(disputed, reply.answers) if reply else []
        return doubts

    async def _answer_blind(
        self, session: Session[Answers], cases: Sequence[Proposed], weighed: WeighedCases
    ) -> Answers | None:
        reply = await session.ask_or_none(
            self.context.goal,
            requirements=self._wanted,
            inputs=questions(cases),
            interface="\n".join(weighed.interface),
        )
        if reply is None:
            self.notes.append(f"the second examiner ({session.agent}) gave no answer that can be used")
        return reply

    def _take_own(self, proposals: Sequence[Proposed], known: Sequence[Proposed]) -> None:
        """Take the cases that the second examiner proposes itself. They have inputs that the examiner, who may work
        together with the implementer, did not choose. So they count only if the second examiner is independent, and
        only with inputs that no `known` case has."""
        if not self._is_independent(self.second):
            return
        shown = [case for proposal in known for case in cases_of(proposal)]
        for part in (part for proposal in proposals for part in split(proposal)):
            fresh = [case for _, case in proving_cases(part) if not any(_has_input_of(case, one) for one in shown)]
            if fresh and part not in self.own:
                self.own.append(part)
                self.put.append(part)

    def _is_independent(self, session: Session[Answers] | Session[Examined] | None) -> bool:
        """Whether the session's agent is of another vendor than all agents that plan and build."""
        author = Author(role="", agent=session.agent) if session else None
        return author is not None and is_independent(self.context, author, implementer_vendors(self.context))

    def _compared(self, put: Sequence[tuple[Proposed, Proposed]], blind: Sequence[Blind]) -> list[Doubt]:
        """The doubts in the blind answers to these proposals: each in its original form, and as it is run."""
        doubts: list[Doubt] = []
        for (origin, run), answers in zip(put, compare_answers([run for _, run in put], blind), strict=True):
            self.put.append(origin)
            self.alike += [(origin, number) for number, (what, _) in enumerate(answers) if what == "alike"]
            for number, (what, why) in enumerate(answers):
                if what == "alike":
                    continue
                doubts.append(Doubt(of=origin, number=number, what=what, why=why))
                self.notes.append(_doubt_note(origin, cases_of(run)[number], what, why))
        return doubts

    def _agreed(self, origin: Proposed, run: Proposed) -> bool:
        """Whether the second examiner gave the author's answer to all cases of a proposal, apart from set-up."""
        return all((origin, number) in self.alike for number, _ in proving_cases(run))

    # -- the result ----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the sessions of both examiners."""
        for session in self._sessions:
            await session.close()

    @property
    def _sessions(self) -> "list[Session[Examined] | Session[Answers]]":
        return [self.first, *([self.second] if self.second else []), *self.others]

    def assemble(self, weighed: WeighedCases) -> Examination:
        """The result of the examination: the requirements with these cases as checks, and who wrote each check."""
        authors: dict[str, Author] = {}
        asides = {aside.requirement for aside in weighed.background}
        requirements: list[Requirement] = []
        taken = {requirement.id for requirement in self.asked.requirements}
        for requirement in self.asked.requirements:
            checks = self._checks(weighed, requirement.id, authors)
            proposals = [
                proposal
                for proposal in weighed.proposals
                if proposal.requirement == requirement.id and is_open(requirement)
            ]
            tests = [name for proposal in proposals if proposal.what == "supersedes" for name in proposal.tests]
            update = {
                "checks": (*requirement.checks, *checks),
                "proposed": tuple(name for name in dict.fromkeys(tests) if name not in requirement.supersedes),
                "aside": "the examiner calls it background" if requirement.id in asides else requirement.aside,
            }
            requirements.append(requirement.model_copy(update=update))
            requirements += leftover_requirements(requirement, weighed.rests.get(requirement.id, ()), taken)
        ids = tuple(requirement.id for requirement in requirements if not requirement.parts)
        whole = [
            requirement.model_copy(update={"parts": ids}) if requirement.parts else requirement
            for requirement in requirements
        ]
        asked = self.asked.model_copy(
            update={"requirements": tuple(whole), "interface": weighed.interface, "serve": weighed.serve}
        )
        return Examination(asked, authors, dict(weighed.caps), self._undecided(weighed), tuple(self._sessions))

    def _checks(self, weighed: WeighedCases, name: str, authors: dict[str, Author]) -> list[Check]:
        """The requirement's checks: for each author, one for all calls and command lines that the second examiner
        confirmed, and one for all others; and one for each group of exchanges and each page. Adds their authors to
        `authors`."""
        groups: dict[tuple[int, Author], list[Proposed]] = {}
        for number, (origin, proposal) in enumerate(zip(weighed.origins, weighed.kept, strict=True), 1):
            if proposal.requirement != name:
                continue
            alone = proposal.page is not None or any(isinstance(case, HttpCase) for case in proposal.cases)
            groups.setdefault((number if alone else 0, self._author(origin, proposal)), []).append(proposal)
        checks: list[Check] = []
        for (_, author), proposals in groups.items():
            check = proposals[0].page or ExamplesCheck(
                cases=tuple(case for proposal in proposals for case in proposal.cases)
            )
            authors[check_hash(check)] = author
            checks.append(check)
        return checks

    def _author(self, origin: Proposed, proposal: Proposed) -> Author:
        """Who wrote a proposal, and who confirmed it: by its cases, not by who was asked last."""
        is_own = origin in self.own
        by = self.second if self.second and is_own else self.first
        new = self._rated(Author(role=by.role.name, agent=by.agent, vendor=self.context.capabilities(by.agent).vendor))
        cases = [case for _, case in proving_cases(proposal)]
        author = author_of_all([self._rated(self.authors.get(content_of(case), new)) for case in cases] or [new])
        if self.second and not is_own and self._agreed(origin, proposal):
            author = author.model_copy(update={"agreed": tuple(dict.fromkeys((*author.agreed, self.second.agent)))})
        elif origin in self.put:  # whatever was answered earlier, the answer is now another one, or unsure
            author = author.model_copy(update={"agreed": ()})
        return self._rated(author)

    def _rated(self, author: Author) -> Author:
        independent = is_independent(self.context, author, implementer_vendors(self.context))
        return author.model_copy(update={"independent": independent})

    def _undecided(self, weighed: WeighedCases) -> tuple[str, ...]:
        notes = [f"{fault.requirement}: {fault.what}" if fault.requirement else fault.what for fault in weighed.faults]
        notes += [f"{aside.requirement}: called background: “{aside.quote}”" for aside in weighed.background]
        notes += [f"{aside.requirement}: called vague: “{aside.quote}” {aside.why}".rstrip() for aside in weighed.vague]
        notes += weighed.unsure
        notes += self._not_chosen(weighed)
        notes += [self._proposal_note(proposal) for proposal in weighed.proposals]
        return tuple(dict.fromkeys((*self.notes, *notes)))

    def _not_chosen(self, weighed: WeighedCases) -> list[str]:
        """A note on each requirement whose cases only an agent of another vendor makes independent, if that agent chose
        no input."""
        if self.second is None or self._is_independent(self.first) or not self._is_independent(self.second):
            return []
        kept = [(origin, run.requirement) for origin, run in zip(weighed.origins, weighed.kept, strict=True)]
        chosen = {name for origin, name in kept if origin in self.own}
        return [
            f"{name}{NOT_CHOSEN}{self.second.agent} only answered the examiner's"
            for name in dict.fromkeys(name for _, name in kept)
            if name not in chosen
        ]

    def _proposal_note(self, proposal: Proposal) -> str:
        """The note about a proposal that only the user can accept, with the command that accepts it."""
        if not any(
            requirement.id == proposal.requirement and is_open(requirement) for requirement in self.asked.requirements
        ):
            return (
                f"{proposal.requirement}: the examiner proposes {proposal.what}, and there is no such open requirement"
            )
        return proposal_text(proposal, self.context.run)


def proposal_text(proposal: Proposal, run: str) -> str:
    """A proposal with the command that accepts it. The agent's own words come last and are quoted, so that no command
    in them looks like one of the engine's."""
    options = {
        "keep": f"--keep {shlex.quote(proposal.requirement)}",
        "remove": f"--remove {shlex.quote(proposal.requirement)}",
        "supersedes": " ".join(
            f"--supersedes {shlex.quote(f'{proposal.requirement}={name}')}" for name in proposal.tests
        ),
    }[proposal.what]
    why = f" (its reason: “{plain_line(proposal.why, REASON).replace('”', '’')}”)" if proposal.why else ""
    return (
        f"{proposal.requirement}: the examiner proposes {proposal.what}; if you agree: trued amend {run} {options}{why}"
    )


def _has_input_of(case: Case | BrowserCheck, known: Case | BrowserCheck) -> bool:
    if isinstance(known, BrowserCheck):
        return isinstance(case, BrowserCheck) and (case.page, case.actions) == (known.page, known.actions)
    return is_known_from(known, case)


def _doubt_note(proposal: Proposed, case: Case | BrowserCheck, what: str, why: str) -> str:
    if why == STATUS:
        what = describe_shown(case)
        return (
            f"{proposal.requirement}: a second examiner expects {STATUS} of {what}: the status of {what} is not checked"
        )
    if what == "otherwise":
        return f"{proposal.requirement}: withdrawn, a second examiner answers {describe_shown(case)} otherwise"
    return f"{proposal.requirement}: a second examiner is not sure of {describe_shown(case)}: {why}"


def _second_session(steps: Steps, examiner: str, *, always: bool = False) -> Session[Answers] | None:
    """A session with the second examiner: the agent that the settings name, or else an agent of another vendor than the
    examiner's. None if there is no such agent.

    An agent whose vendor neither plans nor builds in this run is preferred. An agent whose vendor plans or builds is
    chosen only if the examiner's vendor plans or builds, too. `always` (for disputed cases): instead of None, return a
    fresh session with the examiner's own agent.
    """
    context = steps.context
    agent = context.settings.agents.get(SECOND, "") or _blind_agent(context, examiner) or (examiner if always else "")
    return Session(steps, SECOND, Answers, publishes=False, agent=agent) if agent and SECOND in context.roles else None


def other_examiner(context: RunContext, asked: Sequence[str]) -> str:
    """An agent of this run that was not asked for cases yet, if possible of another vendor. If all were asked, the
    agent that was asked last."""
    unasked = [agent for agent in dict.fromkeys(context.settings.agents.values()) if agent not in asked]
    of_other_vendor = [agent for agent in _of_other_vendors(context, asked[-1]) if agent in unasked]
    return next(iter((*of_other_vendor, *unasked)), asked[-1])


def _blind_agent(context: RunContext, examiner: str) -> str:
    others, builders = _of_other_vendors(context, examiner), implementer_vendors(context)
    outside = [agent for agent in others if context.capabilities(agent).vendor not in builders]
    is_independent_alone = context.capabilities(examiner).vendor not in builders
    return next(iter(outside or ([] if is_independent_alone else others)), "")


def _of_other_vendors(context: RunContext, examiner: str) -> list[str]:
    vendor = context.capabilities(examiner).vendor
    agents = dict.fromkeys(context.settings.agents.values())
    return [agent for agent in agents if vendor and context.capabilities(agent).vendor not in ("", vendor)]
