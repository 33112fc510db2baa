"""Our own falsely and honestly finished work: each is judged rightly, and the right requirement is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.kit import CorpusCase, clean_up, every_case, lay_base, lay_head
from tests.proof.trial import Sealed, Trial, git, is_success
from trued.model import Grade

# Of one contract, because sealing takes long. All others are slow.
SAMPLE = {"t04-inkwell", "s06-inkwell", "k01-inkwell"}


def listed() -> list[object]:
    seen: set[str] = set()
    found: list[object] = []
    for case in every_case():
        short = f"{case.id}-{case.project}"
        quick = short in SAMPLE and short not in seen
        seen.add(short)
        found.append(pytest.param(case, id=case.name, marks=() if quick else pytest.mark.slow))
    return found


@pytest.fixture(scope="session")
def sealed() -> dict[str, Sealed]:
    return {}


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    clean_up(tmp_path)


async def contracted(case: CorpusCase, sealed: dict[str, Sealed], factory: pytest.TempPathFactory) -> Sealed:
    """Sealed once for all cases with the same base and requirements."""
    if case.seal_key not in sealed:
        place = factory.mktemp("project")

        def base(folder: Path) -> None:
            lay_base(case, folder, place)

        data = case.requirements
        whole = {key: data[key] for key in ("serve",) if key in data}
        trial = Trial(place, base, data["requirements"], **data.get("environment", {}), **whole)
        sealed[case.seal_key] = Sealed(trial, await trial.seal())
    return sealed[case.seal_key]


@pytest.mark.many(1)
@pytest.mark.spec("LAW-1", "LAW-2", "LAW-4", "LAW-5", "LAW-6", "LAW-7")
@pytest.mark.parametrize("case", listed())
async def test_the_right_requirements_are_met_and_the_others_are_named(
    case: CorpusCase,
    sealed: dict[str, Sealed],
    nothing_left: None,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    trial, contract = await contracted(case, sealed, tmp_path_factory)
    head = tmp_path / "ws" / "head"
    (tmp_path / "home").mkdir()
    lay_head(case, trial.base, head, tmp_path / "home")
    commit = git(head, "rev-parse", "HEAD")
    await trial.workspace.store.git("fetch", "-q", str(head), f"{commit}:refs/trued/verify/{commit}")
    verdict = await trial.prove(contract, commit)
    said = "\n".join(f"{one.id}: {one.grade}: {one.why}" for one in verdict.requirements)
    every = {one.id for one in contract.requirements}
    short = {one.id for one in verdict.requirements if one.grade.rank < Grade.ATTESTED.rank}
    assert short == (every if case.breaks is None else set(case.breaks)), said
    assert is_success(verdict) == case.honest, said


CATALOGUE = {"t": 19, "c": 16, "r": 14, "h": 11, "s": 14, "p": 15}  # known ways to a false "done", by family


def test_every_known_way_has_a_case_and_every_project_an_honest_twin() -> None:
    cases = every_case()
    known = {f"{family}{number:02}" for family, most in CATALOGUE.items() for number in range(1, most + 1)}
    assert known <= {case.id for case in cases if not case.honest}
    assert {case.project for case in cases} == {case.project for case in cases if case.honest}
    assert len({case.name for case in cases}) == len(cases)
