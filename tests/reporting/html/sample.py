"""The events of a made-up run: one false claim is refuted, and one crash is survived."""

from collections.abc import Iterator
from typing import Any

from trued.model import (
    CallCase,
    Contract,
    Event,
    Evidence,
    ExamplesCheck,
    Finding,
    Goal,
    Grade,
    Judged,
    Outcomes,
    Requirement,
    RunCase,
    RunRecord,
    Settings,
    Source,
    Tried,
    Verdict,
)
from trued.proof.hashes import check_hash
from trued.reporting.html.material import Material, Proved, Spooled

START = 1_762_000_000.0
BASE, HEAD, LIE, TREE = "b" * 40, "c0ffee" + "1" * 34, "badbad" + "2" * 34, "7" * 40
AGENT = "scripted:/tmp/demo/agents.py"

SLUG = ExamplesCheck(
    cases=(
        CallCase(call="textkit.slug:slugify", args=("Foo & Bar 42",), returns="foo-bar-42"),
        CallCase(call="textkit.slug:slugify", args=(7,), raises="TypeError"),
    )
)
WORDS = ExamplesCheck(cases=(RunCase(run=("python", "-m", "textkit", "count", "a b a"), stdout="a 2\nb 1\n"),))


def requirement(name: str, text: str, line: int, check: ExamplesCheck, *covers: str) -> Requirement:
    source = Source(file="requirements.yaml", line=line)
    return Requirement(id=name, text=text, source=source, checks=(check,), covers=covers)


REQUIREMENTS = (
    requirement("slug", "slugify(text) lower-cases and joins runs of other characters with one “-”", 4, SLUG, "1A"),
    requirement("count", "count tells how often each word occurs, the most frequent first", 12, WORDS, "1B"),
)


def evidence(name: str, check: ExamplesCheck, side: Any, turn: int, outcome: Outcomes, detail: str = "") -> Evidence:
    places = enumerate(check.cases, 1)
    return Evidence(
        id=f"ev-{name}-{side}-{turn}-{outcome}",
        requirement=name,
        check=check_hash(check),
        kind="examples",
        side=side,
        turn=turn,
        command=f"{len(check.cases)} cases by /usr/bin/python3",
        commit=BASE if side == "base" else HEAD,
        tree=TREE,
        interpreter="/usr/bin/python3",
        versions={"python": "3.11.2", "pytest": "8.4.2"},
        isolation="bubblewrap",
        exit_code=0,
        tried=tuple(
            Tried(id=f"case {place}", outcome=outcome, kind=detail and "returned", detail=detail) for place, _ in places
        ),
        output="Traceback (most recent call last):\n  AttributeError: no attribute slugify" if detail else "",
        began=START + 3,
        seconds=0.41,
        held_out=True,
    )


def judged(one: Requirement, grade: Grade, *why: str, gaps: tuple[Finding, ...] = ()) -> Judged:
    holds = grade is Grade.PROVEN
    return Judged(id=one.id, text=one.text, source=str(one.source), grade=grade, why=why, holds=holds, gaps=gaps)


CONTRACT = Contract(
    base=BASE,
    requirements=REQUIREMENTS,
    held_out=True,
    held_out_why="agents cannot read the requirements file: tried in their sandbox",
    base_facts=tuple(
        evidence(one.id, check, "base", turn, Outcomes.MISSING, "textkit has no slugify")
        for one, check in zip(REQUIREMENTS, (SLUG, WORDS), strict=True)
        for turn in (1, 2, 3)
    ),
)


def history() -> Iterator[Proved]:
    slug, count = REQUIREMENTS
    good = [evidence("slug", SLUG, "head", turn, Outcomes.PASSED) for turn in (1, 2)]
    lie = evidence("count", WORDS, "head", 1, Outcomes.FAILED, "stdout b'a 1\\n'")
    mended = [evidence("count", WORDS, "head", turn, Outcomes.PASSED) for turn in (1, 2)]
    proven, refuted = "all 2 held-out cases failed on the base and pass here, twice", "1 of 1 held-out cases failed"
    gap = Finding(what="a held-out case of count failed: the output differs", requirement="count")
    yield Proved(
        "chunk 1A/prove#1",
        START + 9,
        Verdict(
            subject="1A",
            commit=HEAD,
            tree=TREE,
            requirements=(judged(slug, Grade.PROVEN, proven),),
            evidence=tuple(good),
        ),
    )
    bad = judged(count, Grade.REFUTED, refuted, gaps=(gap,))
    yield Proved(
        "chunk 1B/prove#1", START + 15, Verdict(subject="1B", commit=LIE, requirements=(bad,), evidence=(lie,))
    )
    mend = judged(count, Grade.PROVEN, proven)
    yield Proved(
        "chunk 1B/prove#2", START + 24, Verdict(subject="1B", commit=HEAD, requirements=(mend,), evidence=tuple(mended))
    )
    yield Proved(
        "finish#1",
        START + 28,
        Verdict(
            subject="plan",
            commit=HEAD,
            tree=TREE,
            requirements=(judged(slug, Grade.PROVEN, proven), mend),
            evidence=(*good, *mended),
            undecided=("no case reaches “the most frequent first” for words that occur equally often",),
        ),
    )


def call(key: str, began: float, seconds: float, reply: dict[str, Any], *, adopted: float = 0.0) -> Iterator[Event]:
    role = key.rpartition("/")[2].partition("#")[0]
    brief = f"# {role}\n\nYou work on {key}.\n\n" + "Keep to the plan and to the code base's own patterns. " * 12
    asked = {"role": role, "agent": AGENT, "brief": brief, "chars": len(brief), "resume": key.endswith("#2")}
    yield told(began - 0.4, key, "asked", **asked)
    yield told(began - 0.1, key, "started", pid=4711)
    if adopted:
        yield told(adopted, "", "resumed", after="running")
        yield told(adopted + 0.1, key, "adopted")
    tokens = {"in": len(brief) // 4, "out": 140, "cached": 0, "peak": len(brief) // 4 + 140, "estimated": True}
    yield told(
        began + seconds,
        key,
        "answered",
        role=role,
        agent=AGENT,
        state="done",
        kind="",
        why="",
        reply=reply,
        attempts=1,
        asks=1,
        resumed=key.endswith("#2"),
        reaped=0,
        commit=HEAD,
        changed=["textkit/slug.py"],
        tokens=tokens,
        cost_usd=0.0,
        began=START + began,
        ended=START + began + seconds,
    )


def told(at: float, key: str, kind: str, /, **data: Any) -> Event:
    return Event(id=0, at=START + at, key=key, kind=kind, data=data)


def checked(name: str, at: float) -> Event:
    return told(at, "seal", "checked", check=name, sort="examples", turn=1, void="")


def events(evil: str = "") -> Iterator[Event]:
    yield told(0, "", "run began", title="Text kit", workflow="purple", branch="trued/r-demo", level="bubblewrap")
    for number, name in enumerate(("slug", "count", "slug", "count", "slug", "count")):
        yield checked(name, 0.9 + number * 0.45)
    built = {"status": "DONE", "summary": f"all tests pass{evil}", "implemented": ["slugify"], "files": []}
    passed = {"status": "DONE", "summary": "verified by reading", "result": "PASS", "steel_man": [], "gaps": []}
    yield from call("chunk 1A/purple-team-a#1", 3.6, 1.8, built)
    yield from call("chunk 1A/purple-team-b#1", 6.0, 1.2, passed)
    yield checked("slug", 8.1)
    yield checked("slug", 8.9)
    yield from call("chunk 1B/purple-team-a#1", 9.6, 1.6, built)
    yield from call("chunk 1B/purple-team-b#1", 11.9, 1.4, passed)
    yield checked("count", 14.5)
    yield from call("chunk 1B/purple-team-a#2", 15.6, 3.1, built, adopted=17.9)
    yield from call("chunk 1B/purple-team-b#2", 19.6, 1.3, passed)
    yield checked("count", 22.3)
    yield checked("count", 23.4)
    for number, name in enumerate(("slug", "count", "slug", "count")):
        yield checked(name, 25.2 + number * 0.8)
    yield told(28.1, "", "ended", state="done", code=0, why="", grade="proven")


def material(evil: str = "", **changes: Any) -> Material:
    record = RunRecord(
        id="r-demo",
        workflow="purple",
        title=f"Text kit: slugs and word counts{evil}",
        repository="/home/ada/textkit",
        base=BASE,
        branch="trued/r-demo",
        state=changes.pop("state", "done"),
        grade=Grade.PROVEN,
        head=HEAD,
        created_at=START,
        updated_at=START + 28,
    )
    every = tuple(history())
    given: dict[str, Any] = {
        "record": record,
        "events": tuple(events(evil)),
        "settings": Settings(agents={"*": AGENT}),
        "goal": Goal(text="# Text kit", source=Source(file="PLAN.md", line=1)),
        "level": "bubblewrap",
        "version": "0.1.0",
        "contract": CONTRACT,
        "contract_hash": "5ea1ed" + "0" * 58,
        "verdict": every[-1].verdict,
        "history": every,
        "documents": {"PLAN.md": f"# Text kit\n\n- [x] slugs work{evil}\n", "MEMORY.md": "# Implementation log\n"},
        "spool": lambda key, lines: Spooled(({"at": START + 4, "kind": "log", "text": f"writing the module{evil}"},)),
        "now": START + 29,
    }
    return Material(**{**given, **changes})


def long_run(chunks: int, **changes: Any) -> Material:
    """A run with this many chunks: four calls and a proof for each, and a proof of the whole. The last is refuted."""
    wanted = tuple(
        requirement(f"R{number}", f"chunk {number} slugs its own {number} words", number, SLUG)
        for number in range(1, chunks + 1)
    )
    reply = {"status": "DONE", "summary": "all of it works " * 4, "implemented": ["slugify"] * 5, "files": []}
    told_events: list[Event] = [told(0, "", "run began", title="Text kit", workflow="purple", branch="b", level="none")]
    proofs, rows, facts = list[Proved](), list[Judged](), list[Evidence]()
    for number, one in enumerate(wanted, 1):
        at, scope = number * 12.0, f"chunk {number}"
        for place, role in enumerate(("purple-team-a#1", "purple-team-b#1", "purple-team-a#2", "purple-team-b#2")):
            told_events += call(f"{scope}/{role}", at + place * 2, 1.5, reply)
        told_events.append(checked(one.id, at + 9.4))
        is_bad = number == chunks
        outcome, grade = (Outcomes.FAILED, Grade.REFUTED) if is_bad else (Outcomes.PASSED, Grade.PROVEN)
        gap = (Finding(what="a held-out case failed: the output differs", requirement=one.id),) if is_bad else ()
        row = judged(one, grade, "all 2 held-out cases failed on the base and pass here, twice", gaps=gap)
        own = [
            evidence(one.id, SLUG, "head", turn, outcome, "returned 'x'" if is_bad else "").model_copy(
                update={"id": f"ev-{one.id}-{turn}", "began": START + at + 9 + turn}
            )
            for turn in (1, 2)
        ]
        verdict = Verdict(subject=one.id, commit=HEAD, requirements=(row,), evidence=tuple(own))
        proofs.append(Proved(f"{scope}/prove#1", START + at + 11, verdict))
        rows.append(row)
        facts += own
    end = (chunks + 1) * 12.0
    whole = Verdict(subject="plan", commit=HEAD, requirements=tuple(rows), evidence=tuple(facts))
    base = tuple(
        evidence(one.id, SLUG, "base", turn, Outcomes.MISSING, "textkit has no slugify").model_copy(
            update={"id": f"ev-{one.id}-base-{turn}"}
        )
        for one in wanted
        for turn in (1, 2, 3)
    )
    told_events.append(told(end + 1, "", "ended", state="not proven", code=1, why="R refuted", grade="refuted"))
    given: dict[str, Any] = {
        "events": tuple(told_events),
        "contract": CONTRACT.model_copy(update={"requirements": wanted, "base_facts": base}),
        "verdict": whole,
        "history": (*proofs, Proved("finish#1", START + end, whole)),
        "now": START + end + 2,
    }
    return material(**{"state": "not proven", **given, **changes})
