"""Asks an examiner for cases for requirements that have none, and a second examiner to answer them blind."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trued.model import (
    Author,
    BrowserCheck,
    Case,
    Check,
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
from trued.run.examination.admissibility import CaseRules, WeighedCases, describe_shown, is_open, leftover_requirements
from trued.run.examination.independence import implementer_vendors, is_independent
from trued.run.examination.replies import Answers, Examined, Proposal, Proposed
from trued.run.examination.second_examiner import STATUS, Doubt, cases_of, compare_answers, proving_cases, questions
from trued.run.examination.start_command import FoundServer, server_finder
from trued.run.session import Session
from trued.run.steps import Steps
from trued.support.hashing import digest
from trued.support.plain_text import plain_line
from trued.support.plurals import counted

EXAMINER, SECOND = EXAMINERS
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


class ExaminerConversation:
    """One examiner's conversation about one contract. The examiner works on the base; the run's head stays the same."""

    def __init__(
        self,
        steps: Steps,
        asked: Requirements,
        *,
        before: Examined | None = None,
        always_second: bool = False,
        agent: str = "",
    ) -> None:
        """`before`: an earlier reply, whose cases are kept. `always_second`: if there is no second examiner, the
        examiner's own agent answers blind, in a fresh session. `agent`: used instead of the agent that the settings
        name for the examiner."""
        self.steps, self.asked, self.context = steps, asked, steps.context
        steps.state.position.head = self.context.workspace.base
        self.first = Session(steps, EXAMINER, Examined, publishes=False, agent=agent)
        self.second = _second_session(steps, self.first.agent, always=always_second)
        self.replies = [before] if before else []
        self.put: list[Proposed] = []  # proposals that the second examiner has answered, in their original form
        # (proposal in `put`, index of a case), for each case that the second examiner answered like the author
        self.alike: list[tuple[Proposed, int]] = []
        self.notes: list[str] = []

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
        unchecked = [requirement for requirement in self.asked.requirements if is_open(requirement)]
        wanted = [
            ExaminerRequirement(id=requirement.id, words=requirement.text, where=str(requirement.source))
            for requirement in unchecked
        ]
        fixed = "\n".join(self.asked.interface)
        reply = await self.first.ask_or_none(self.context.goal, requirements=wanted, interface=fixed, gaps=gaps)
        if reply is None:
            self.notes.append(f"the examiner ({self.first.agent}) gave no answer that can be used")
        else:
            self.replies.append(reply)
        return await self.weigh(doubts)

    async def weigh(self, doubts: Sequence[Doubt]) -> WeighedCases:
        """Apply the rules to all replies so far, with the second examiner's doubts, as a durable step."""
        data = [model.model_dump(mode="json") for model in (*self.replies, *doubts)]

        async def step() -> WeighedCases:
            workspace = self.context.workspace
            base = await text_files(workspace, workspace.base, TEXTS)  # a case may call what these files name
            asked = await self._with_server()
            return CaseRules(asked, self.context.goal.text, base).weigh(self.replies, doubts)

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
        cases = [case for reply in self.replies for proposal in reply.cases for case in cases_of(proposal)]
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
        """
        doubts = await self._doubts(weighed)
        otherwise = [doubt for doubt in doubts if doubt.what == "otherwise" and doubt.why != STATUS]
        if not otherwise:
            return await self.weigh(doubts) if doubts else weighed
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
        """The second examiner's doubts about the cases that it has not answered before."""
        assert self.second is not None  # noqa: S101  (checked by the caller)
        fresh = [
            (origin, run) for origin, run in zip(weighed.origins, weighed.kept, strict=True) if origin not in self.put
        ]
        if not fresh:
            return []
        inputs = questions([run for _, run in fresh])
        reply = await self.second.ask_or_none(self.context.goal, inputs=inputs, interface="\n".join(weighed.interface))
        if reply is None:
            self.notes.append(f"the second examiner ({self.second.agent}) gave no answer that can be used")
            return []
        doubts: list[Doubt] = []
        for (origin, run), answers in zip(
            fresh, compare_answers([run for _, run in fresh], reply.answers), strict=True
        ):
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
        await self.first.close()
        if self.second:
            await self.second.close()

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
        sessions: list[Session[Examined] | Session[Answers]] = [self.first]
        sessions += [self.second] if self.second else []
        return Examination(asked, authors, dict(weighed.caps), self._undecided(weighed), tuple(sessions))

    def _checks(self, weighed: WeighedCases, name: str, authors: dict[str, Author]) -> list[Check]:
        """The requirement's checks: one for all calls and command lines that the second examiner confirmed, one for all
        other calls and command lines, and one for each group of exchanges and each page. Adds their authors to
        `authors`."""
        groups: dict[str, list[Proposed]] = {}
        agreed: dict[str, bool] = {}
        for number, (origin, proposal) in enumerate(zip(weighed.origins, weighed.kept, strict=True)):
            if proposal.requirement != name:
                continue
            alone = proposal.page is not None or any(isinstance(case, HttpCase) for case in proposal.cases)
            is_confirmed = self._agreed(origin, proposal)
            group = f"{number}" if alone else f"agreed {is_confirmed}"
            groups.setdefault(group, []).append(proposal)
            agreed[group] = is_confirmed
        checks: list[Check] = []
        for group, proposals in groups.items():
            check = proposals[0].page or ExamplesCheck(
                cases=tuple(case for proposal in proposals for case in proposal.cases)
            )
            authors[check_hash(check)] = self._author(agreed=agreed[group])
            checks.append(check)
        return checks

    def _author(self, *, agreed: bool) -> Author:
        first, second = self.first.agent, [self.second.agent] if self.second and agreed else []
        vendor = self.context.capabilities(first).vendor
        author = Author(role=EXAMINER, agent=first, vendor=vendor, agreed=tuple(second))
        return author.model_copy(
            update={"independent": is_independent(self.context, author, implementer_vendors(self.context))}
        )

    def _undecided(self, weighed: WeighedCases) -> tuple[str, ...]:
        notes = [f"{fault.requirement}: {fault.what}" if fault.requirement else fault.what for fault in weighed.faults]
        notes += [f"{aside.requirement}: called background: “{aside.quote}”" for aside in weighed.background]
        notes += [f"{aside.requirement}: called vague: “{aside.quote}” {aside.why}".rstrip() for aside in weighed.vague]
        notes += weighed.unsure
        notes += [self._proposal_note(proposal) for proposal in weighed.proposals]
        return tuple(dict.fromkeys((*self.notes, *notes)))

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
