"""Has cases written for requirements that have none, before anybody works, and another examiner answer them blind."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..kit import Kit, digest
from ..proof.room.bench import check_hash
from ..protocols import Workspace
from ..session import Session
from ..steps import Steps
from ..types import Author, Check, ExamplesCheck, Finding, HttpCase, Requirement, Requirements, Value
from .blind import alike, questions, shown_by
from .replies import Answers, Examined, Proposed
from .vendors import EXAMINERS, implementers, independent
from .weigh import Scale, Weighed, is_open, said, settled_rests

EXAMINER, SECOND = EXAMINERS
TEXT_BYTES, MOST_BYTES = 200_000, 20_000_000  # of one file of the base, and of all that are looked at for names
_CODE = ".py .js .mjs .cjs .ts .tsx .jsx .go .rb .rs .sh .html"
_WORDS = ".toml .json .cfg .ini .md .rst .txt .yaml .yml"
TEXTS = frozenset(("", *_CODE.split(), *_WORDS.split()))


class Wanted(Value):
    """A requirement as an examiner sees it."""

    id: str
    words: str
    where: str = ""


@dataclass(frozen=True)
class Examination:
    """What an examiner made of a contract: checks with their authors, and all that has to be said of them."""

    asked: Requirements
    authors: Mapping[str, Author] = field(default_factory=dict)
    caps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()
    sessions: tuple[Session[Examined] | Session[Answers], ...] = ()

    @property
    def hides(self) -> list[tuple[str, str]]:
        """Clone and key of every session that saw a case."""
        return [(one.clone, f"{one.steps.path}{one.role.name}") for one in self.sessions]

    async def close(self) -> None:
        for one in self.sessions:
            await one.close()


async def examined(steps: Steps, asked: Requirements) -> Examination:
    """The requirements with an examiner's cases where they have none; as they are, and said, where nobody is one."""
    if not any(is_open(one) and not one.parts for one in asked.requirements):
        return Examination(asked)
    agents, kit = steps.kit.settings.agents, steps.kit
    if EXAMINER not in kit.roles or not (agents.get(EXAMINER) or agents.get("*")):
        return Examination(asked, undecided=("no agent plays the examiner: nobody wrote cases for what has none",))
    return await Examining(steps.apart(), asked).done()


class Examining:
    """One examiner's conversation about one contract, at the base, and on a line that moves nobody else's head."""

    def __init__(
        self, steps: Steps, asked: Requirements, *, before: Examined | None = None, always_second: bool = False
    ) -> None:
        self.steps, self.asked, self.kit = steps, asked, steps.kit
        steps.line.head = self.kit.workspace.base
        self.first = Session(steps, EXAMINER, Examined, publishes=False)
        self.second = _second(steps, self.first.agent, always=always_second)
        self.replies = [before] if before else []
        self.agreed: list[Proposed] = []
        self.said: list[str] = []

    async def done(self) -> Examination:
        return await self.concluded(await self.written())

    async def concluded(self, weighed: Weighed) -> Examination:
        if self.second and weighed.kept:
            weighed = await self.answered(weighed)
        elif weighed.kept:
            self.said.append("no second examiner answered the cases blind: none is named, and no other vendor plays")
        return self.assembled(weighed)

    async def written(self, *gaps: Finding) -> Weighed:
        """The examiner's cases; it is told once what is wrong with them."""
        weighed = await self._asked_for(*gaps)
        if self.replies and weighed.faults:
            weighed = await self._asked_for(
                *(Finding(what=one.what, requirement=one.requirement) for one in weighed.faults)
            )
        return weighed

    async def _asked_for(self, *gaps: Finding, dropped: Sequence[Proposed] = ()) -> Weighed:
        left = [one for one in self.asked.requirements if is_open(one)]
        wanted = [Wanted(id=one.id, words=one.text, where=str(one.source)) for one in left]
        fixed = "\n".join(self.asked.interface)
        reply = await self.first.attempt(self.kit.goal, requirements=wanted, interface=fixed, gaps=gaps)
        if reply is None:
            self.said.append(f"the examiner ({self.first.agent}) gave no answer that can be used")
        else:
            self.replies.append(reply)
        return await self.weighed(dropped)

    async def weighed(self, dropped: Sequence[Proposed]) -> Weighed:
        data = [one.model_dump(mode="json") for one in (*self.replies, *dropped)]

        async def step() -> str:
            base = await base_texts(self.kit.workspace)
            return Scale(self.asked, self.kit.goal.text, base).weigh(self.replies, dropped).model_dump_json()

        return Weighed.model_validate_json(await self.steps.once(self.steps.key("weighed"), digest(data), step))

    # -- the second examiner -------------------------------------------------------------------------------------------

    async def answered(self, weighed: Weighed) -> Weighed:
        """Alike: it stands. Not alike: withdrawn and said; new ones are written for that clause, and answered, too."""
        withdrawn = await self._withdrawn(weighed, weighed.kept)
        if not withdrawn:
            return weighed
        gaps = [
            Finding(what=f"another reading of the words gives another result: write other cases for “{shown.quotes}”")
            for one in withdrawn
            for shown in shown_by(one)
        ]
        again = await self._asked_for(*dict.fromkeys(gaps), dropped=withdrawn)
        fresh = [one for one in again.kept if one not in self.agreed]
        withdrawn += await self._withdrawn(again, fresh) if fresh else []
        return await self.weighed(withdrawn)

    async def _withdrawn(self, weighed: Weighed, proposed: Sequence[Proposed]) -> list[Proposed]:
        assert self.second is not None  # noqa: S101  (looked at by the caller)
        inputs = questions(proposed)
        fixed = "\n".join(weighed.interface)
        reply = await self.second.attempt(self.kit.goal, inputs=inputs, interface=fixed)
        if reply is None:
            self.said.append(f"the second examiner ({self.second.agent}) gave no answer that can be used")
            return []
        same = alike(proposed, reply.answers)
        self.agreed += [one for one, is_so in zip(proposed, same, strict=True) if is_so]
        gone = [one for one, is_so in zip(proposed, same, strict=True) if not is_so]
        self.said += [f"{one.requirement}: withdrawn, a second examiner answers {said(one)} otherwise" for one in gone]
        return gone

    # -- what comes of it ----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        await self.first.close()
        if self.second:
            await self.second.close()

    def assembled(self, weighed: Weighed) -> Examination:
        authors: dict[str, Author] = {}
        asides = {one.requirement for one in weighed.background}
        made: list[Requirement] = []
        for one in self.asked.requirements:
            if one.id in asides:
                continue
            checks = self._checks([each for each in weighed.kept if each.requirement == one.id], authors)
            proposals = [each for each in weighed.proposals if each.requirement == one.id]
            superseded = tuple(name for each in proposals if each.what == "supersedes" for name in each.tests)
            keep = one.keep or (not checks and any(each.what == "keep" for each in proposals) and not one.checks)
            more = {"checks": (*one.checks, *checks), "keep": keep, "supersedes": (*one.supersedes, *superseded)}
            made.append(one.model_copy(update=more))
            made += settled_rests(one, weighed.rests.get(one.id, ()))
        ids = tuple(one.id for one in made if not one.parts)
        whole = [one.model_copy(update={"parts": ids}) if one.parts else one for one in made]
        asked = self.asked.model_copy(
            update={"requirements": tuple(whole), "interface": weighed.interface, "serve": weighed.serve}
        )
        sessions: list[Session[Examined] | Session[Answers]] = [self.first]
        sessions += [self.second] if self.second else []
        return Examination(asked, authors, self._caps(weighed, made), self._undecided(weighed), tuple(sessions))

    def _checks(self, kept: Sequence[Proposed], authors: dict[str, Author]) -> list[Check]:
        """Calls and command lines of one standing together; exchanges and pages each by themselves."""
        together: dict[object, list[Proposed]] = {}
        for number, one in enumerate(kept):
            alone = one.page is not None or any(isinstance(case, HttpCase) for case in one.cases)
            together.setdefault(number if alone else f"agreed {one in self.agreed}", []).append(one)
        checks: list[Check] = []
        for every in together.values():
            page = every[0].page
            check = page or ExamplesCheck(cases=tuple(case for one in every for case in one.cases))
            authors[check_hash(check)] = self._author(agreed=every[0] in self.agreed)
            checks.append(check)
        return checks

    def _author(self, *, agreed: bool) -> Author:
        first, second = self.first.agent, [self.second.agent] if self.second and agreed else []
        vendor = self.kit.capabilities(first).vendor
        author = Author(role=EXAMINER, agent=first, vendor=vendor, agreed=tuple(second))
        return author.model_copy(update={"independent": independent(self.kit, author, implementers(self.kit))})

    def _caps(self, weighed: Weighed, made: Sequence[Requirement]) -> dict[str, tuple[str, ...]]:
        caps = {name: tuple(why) for name, why in weighed.caps.items()}

        def add(name: str, why: str) -> None:
            caps[name] = (*caps.get(name, ()), why)

        for one in made:
            if one.parts:
                for aside in weighed.background:
                    add(one.id, f"the examiner calls this background: “{aside.quote}”")
        for each in weighed.proposals:
            if each.what != "remove":
                add(each.requirement, f"as if agreed: the examiner proposes {each.what} of {each.requirement}")
        return caps

    def _undecided(self, weighed: Weighed) -> tuple[str, ...]:
        words = [f"{one.requirement}: {one.what}" if one.requirement else one.what for one in weighed.faults]
        words += [f"{one.requirement}: called background: “{one.quote}”" for one in weighed.background]
        words += [f"{one.requirement}: called vague: “{one.quote}” {one.why}".rstrip() for one in weighed.vague]
        for each in weighed.proposals:
            tests = f" {', '.join(each.tests)}" if each.tests else ""
            words.append(f"{each.requirement}: proposed for a person to decide: {each.what}{tests} {each.why}".rstrip())
        return tuple(dict.fromkeys((*self.said, *words)))


def _second(steps: Steps, examiner: str, *, always: bool = False) -> Session[Answers] | None:
    """The agent that is named for it; else one of another vendor than the examiner's; else nobody.

    Where a case is disputed it is always answered: by the examiner's own agent, in a session that knows nothing.
    """
    kit = steps.kit
    agent = kit.settings.agents.get(SECOND, "") or _of_another_vendor(kit, examiner) or (examiner if always else "")
    return Session(steps, SECOND, Answers, publishes=False, agent=agent) if agent and SECOND in kit.roles else None


def _of_another_vendor(kit: Kit, examiner: str) -> str:
    own = kit.capabilities(examiner).vendor
    others = [
        one for one in dict.fromkeys(kit.settings.agents.values()) if kit.capabilities(one).vendor not in ("", own)
    ]
    return others[0] if own and others else ""


async def base_texts(workspace: Workspace) -> dict[str, str]:
    """The base's own words: what it names, an entry point of an agent's case may be called."""
    texts: dict[str, str] = {}
    left = MOST_BYTES
    async with workspace.room(workspace.base) as room:
        for folder, folders, names in os.walk(room):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix not in TEXTS or path.is_symlink() or path.stat().st_size > min(TEXT_BYTES, left):
                    continue
                texts[path.relative_to(room).as_posix()] = path.read_text("utf-8", "replace")
                left -= path.stat().st_size
    return texts
