"""Facts are kept by tree: a base is checked once, and a head that failed gets no second try."""

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial, git, only
from trued.model import Contract, Evidence, ExamplesCheck, Grade, Outcomes, Requirement, Tried
from trued.proof import fact_cache
from trued.proof.fact_cache import MOST, FactCache
from trued.proof.hashes import check_hash, contract_hash
from trued.proof.room.node import find_node
from trued.proof.seal import SealTerms, seal
from trued.proof.verdict.case_status import full_name
from trued.proof.verdict.notes import worst_counts
from trued.protocols import Emit
from trued.workspace.git.workspace import GitWorkspace

BASE = {"m.py": "def f(x):\n    return x\n"}
CASES = [{"call": "m:f", "args": [3], "returns": 6}, {"call": "m:f", "args": [0], "returns": 0}]
# The sandbox shows the interpreter's folder. A file that appears there later makes this head pass after a failure.
COIN = "import os, sys\n\n\ndef f(x):\n    return 2 * x if os.path.exists(sys.prefix + '/{marker}') else x\n"


def trial(place: Path, kept: Path, cases: list[dict[str, Any]] = CASES, text: str = "f doubles") -> Trial:
    made = Trial(place, BASE, [{"id": "r", "text": text, "checks": [{"kind": "examples", "cases": cases}]}])
    made.workspace.kept = kept
    return made


def listener() -> tuple[list[str], Emit]:
    heard: list[str] = []
    return heard, lambda event: heard.append(event.KIND)


async def sealed(one: Trial) -> tuple[Contract, list[str]]:
    heard, tell = listener()
    await one.workspace.begin()
    return await seal(one.workspace, one.asked, SealTerms(held_out=True), tell=tell), heard


@pytest.mark.spec("LAW-6")
async def test_a_base_is_looked_at_once(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first, heard = await sealed(trial(tmp_path / "a", kept))
    assert "sealed" in heard
    other = trial(tmp_path / "b", kept, text="f doubles, in other words")
    second, heard = await sealed(other)
    assert heard == ["base known"]
    assert [one.tried for one in second.base_facts] == [one.tried for one in first.base_facts]
    assert not {one.id for one in second.base_facts} & {one.id for one in first.base_facts}
    verdict = await other.prove(second, await other.head({"m.py": "def f(x):\n    return 2 * x\n"}))
    assert only(verdict).grade is Grade.PROVEN
    _, heard = await sealed(trial(tmp_path / "c", kept, CASES[:1]))
    assert "sealed" in heard  # another check needs its own facts


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_what_fails_for_lack_of_a_submodule_is_not_red_in_another_clone(tmp_path: Path) -> None:
    """A clone without the submodule must not make a base look red where the submodule is there."""

    def base(folder: Path) -> None:
        (folder / "m.py").write_text("def f(x):\n    return len(open('lib/word').read()) * x\n")
        (folder / ".gitmodules").write_text('[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n')
        git(folder, "init", "-q")
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
        (folder / "lib").mkdir()

    asked = [{"id": "r", "text": "f doubles", "checks": [{"kind": "examples", "cases": CASES}]}]
    for name, change, told in (
        ("a", base, "sealed"),
        ("b", base, "sealed"),
        ("c", BASE, "sealed"),
        ("d", BASE, "base known"),
    ):
        one = Trial(tmp_path / name, change, asked)
        one.workspace.kept = tmp_path / "kept"
        _, heard = await sealed(one)
        assert told in heard, name


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"form": 1, "evidence": [7]}', b'{"form": 1}', b"\xff" * 99])
async def test_garbage_is_taken_anew(tmp_path: Path, garbage: bytes) -> None:
    contract, facts = invented()
    baseline = FactCache(tmp_path)
    baseline.keep_base(contract, "tree", "bubblewrap", facts)
    assert baseline.of_base(contract, "tree", "bubblewrap")
    (file,) = (tmp_path / "facts" / "base").iterdir()
    file.write_bytes(garbage)
    assert baseline.of_base(contract, "tree", "bubblewrap") == ()
    baseline.keep_base(contract, "tree", "bubblewrap", facts)
    assert baseline.of_base(contract, "tree", "bubblewrap")


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_head_that_failed_once_has_failed_whatever_it_shows_later(tmp_path: Path) -> None:
    kept, marker = tmp_path / "kept", f"marker-{os.getpid()}-{tmp_path.name}"
    head = {"m.py": COIN.format(marker=marker)}
    first = trial(tmp_path / "a", kept)
    contract, _ = await sealed(first)
    assert only(await first.prove(contract, await first.head(head))).grade is Grade.REFUTED
    place = Path(os.environ["VIRTUAL_ENV"]) / marker
    place.touch()
    try:
        first.workspace.kept = None
        # judged without the earlier facts
        assert only(await first.prove(contract, await first.head(head))).grade is Grade.PROVEN
        first.workspace.kept = kept
        again, _ = await sealed(first)
        verdict = await first.prove(again, await first.head({**head}))
        assert only(verdict).grade is Grade.REFUTED
        assert any(one == worst_counts() for one in verdict.undecided)
        assert set(only(verdict).evidence) <= {one.id for one in (*verdict.evidence, *again.base_facts)}
        other = await first.prove(again, await first.head({**head, "notes": "another tree"}))
        assert only(other).grade is Grade.PROVEN
    finally:
        place.unlink()


@pytest.mark.spec("DAY-8", "LAW-6")
async def test_two_clones_with_one_state_folder_never_meet_in_what_a_head_did_wrong(tmp_path: Path) -> None:
    """Two commits with the same failing tree, under the same contract, in two stores."""
    first = trial(tmp_path / "a", tmp_path / "kept")
    wrong: dict[str, str | None] = {"m.py": "def f(x):\n    return 3 * x\n"}
    contract, _ = await sealed(first)
    assert only(await first.prove(contract, await first.head(wrong))).grade is Grade.REFUTED
    again = await first.prove(contract, await first.head({**wrong}))
    # earlier failures are reported for the new commit, too
    assert {one.commit for one in again.evidence} == {again.commit}
    second = trial(tmp_path / "b", tmp_path / "kept")
    git(tmp_path, "clone", "-q", str(first.base), str(tmp_path / "clone"))
    second.base = tmp_path / "clone"
    sight = second.workspace.confinement()
    second.workspace = GitWorkspace(second.base, tmp_path / "b" / "s", "verify", "trued/verify", contract.base, sight)
    second.workspace.kept = tmp_path / "kept"
    other, _ = await sealed(second)
    assert contract_hash(other) == contract_hash(contract)
    seen = await second.prove(other, await second.head({**wrong}))
    assert (seen.grade, worst_counts() in seen.undecided) == (Grade.REFUTED, False)
    assert {one.commit for one in (*seen.evidence, *other.base_facts)} <= {seen.commit, other.base}
    right = await second.head({"m.py": "def f(x):\n    return 2 * x\n"})
    assert (await second.prove(other, right, known=seen.evidence)).grade is Grade.PROVEN


def invented() -> tuple[Contract, list[Evidence]]:
    check = ExamplesCheck.model_validate({"kind": "examples", "cases": CASES})
    contract = Contract(base="b" * 40, requirements=(Requirement(id="r", text="x", checks=(check,)),))
    fact = Evidence(
        id="1", requirement="r", check=check_hash(check), kind="examples", side="base", commit="b" * 40, tree="tree",
        isolation="bubblewrap", tried=(Tried(id="case 1", outcome=Outcomes.FAILED, kind="returned"),),
    )  # fmt: skip
    return contract, [fact]


async def test_what_the_machine_spoilt_is_not_kept(tmp_path: Path) -> None:
    contract, (fact,) = invented()
    spoilt = fact.model_copy(update={"tried": (Tried(id="case 1", outcome=Outcomes.UNJUDGED, kind="environment"),)})
    baseline = FactCache(tmp_path)
    baseline.keep_base(contract, "tree", "bubblewrap", [spoilt])
    baseline.keep_head(contract, "tree", "bubblewrap", [spoilt], frozenset())
    assert baseline.of_base(contract, "tree", "bubblewrap") == ()
    assert baseline.of_head(contract, "tree", "bubblewrap").evidence == ()


async def test_what_fails_on_the_base_in_the_same_way_is_not_held_against_a_head(tmp_path: Path) -> None:
    contract, (fact,) = invented()
    baseline = FactCache(tmp_path)
    baseline.keep_head(contract, "tree", "bubblewrap", [fact], frozenset({full_name(fact.kind, fact.check, "case 1")}))
    assert baseline.of_head(contract, "tree", "bubblewrap").evidence == ()


async def test_verifications_side_by_side_lose_and_break_nothing(tmp_path: Path) -> None:
    contract, (fact,) = invented()

    def keep(number: int) -> int:
        baseline = FactCache(tmp_path)
        failing = fact.model_copy(update={"id": str(number)})
        baseline.keep_head(contract, "tree", "bubblewrap", [failing], frozenset())
        return len(baseline.of_head(contract, "tree", "bubblewrap").evidence)

    counts = [keep(number) for number in range(2 * MOST)]
    assert counts[-1] == MOST
    found = await asyncio.gather(*(asyncio.to_thread(keep, 100 + number) for number in range(4)))
    assert set(found) == {MOST}


@pytest.mark.spec("TIC-6")
def test_facts_of_a_base_are_known_with_their_pictures_or_not_at_all(tmp_path: Path) -> None:
    baseline = FactCache(tmp_path)
    contract, facts = invented()
    name = hashlib.sha256(b"picture").hexdigest()
    pictured = [one.model_copy(update={"artifacts": {"screenshot.png": name}}) for one in facts]
    assert baseline.keep_base(contract, "tree", "bubblewrap", pictured)
    assert baseline.of_base(contract, "tree", "bubblewrap") == ()
    baseline.keep_artifact(contract, "tree", "bubblewrap", b"picture")
    (known, *_) = baseline.of_base(contract, "tree", "bubblewrap")
    assert baseline.artifact(contract, "tree", "bubblewrap", known.artifacts["screenshot.png"]) == b"picture"


async def test_a_base_that_was_looked_at_in_another_room_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    await sealed(trial(tmp_path / "one", kept))
    monkeypatch.setattr(fact_cache, "ROOM", "elsewhere")
    _, heard = await sealed(trial(tmp_path / "two", kept))
    assert "base known" not in heard
    assert "sealed" in heard


def forged(contract: Contract, **changed: Any) -> Contract:
    """The contract as an earlier engine could have sealed it: every case failed on the base three times."""
    facts = [one.model_copy(update=changed) for one in contract.base_facts]
    wrong = {"outcome": Outcomes.FAILED, "kind": "returned"}
    failed = [
        one.model_copy(
            update={
                "id": f"{one.id}-{turn}",
                "turn": turn,
                "tried": tuple(each.model_copy(update=wrong) for each in one.tried),
            }
        )
        for one in facts[:1]
        for turn in (1, 2, 3)
    ]
    return contract.model_copy(update={"base_facts": tuple(failed)})


NODE = [{"call": "m.mjs:f", "args": [3], "returns": 6}]
AGAIN = "the base was checked again"


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(
    ("cases", "changed", "again"),
    [(CASES, {"room": ""}, True), (CASES, {}, False), (NODE, {"versions": {"node": "v0.1"}}, True), (NODE, {}, False)],
)
async def test_red_of_another_room_or_another_node_is_taken_again(
    tmp_path: Path, cases: list[dict[str, Any]], changed: dict[str, Any], again: bool
) -> None:
    """Nothing was built: the base passes. Only results that were taken as the head's are may say that it failed."""
    if cases is NODE and not find_node():
        pytest.skip("node is not installed")
    base = {"m.py": "def f(x):\n    return 2 * x\n", "m.mjs": "export const f = (x) => 2 * x;\n"}
    asked = [{"id": "r", "text": "f doubles", "checks": [{"kind": "examples", "cases": cases}]}]
    one = Trial(tmp_path, base, asked)
    contract = await one.seal()
    verdict = await one.prove(forged(contract, **changed), await one.head({"other.py": "X = 1\n"}))
    assert any(note.startswith(AGAIN) for note in verdict.undecided) is again
    assert any("failed before" in why for why in only(verdict).why) is not again
    verdict = await one.prove(contract, await one.head({"third.py": "X = 1\n"}))
    assert not any(note.startswith(AGAIN) for note in verdict.undecided)
