"""Landing as a pull request: the proven commit is pushed, and exactly one pull request is opened for it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.landing.landable import Landable
from tests.integrations.forges.servers import TOKEN, GitHub, github_server
from trued.engine.landing.land import land
from trued.engine.landing.records import LandingRequest, LandingResult
from trued.errors import BadInput
from trued.model import Grade, RunRecord


@pytest.fixture
def github(place: Landable) -> Iterator[GitHub]:
    """A GitHub server on the loopback; its bare repository is `origin`."""
    bare = place.folder / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
    place.git("remote", "add", "origin", str(bare))
    place.git("push", "-q", "origin", "main")
    with github_server(bare) as server:
        yield server


def forge(github: GitHub) -> dict[str, Any]:
    return {"forge": {"kind": "github", "repository": "acme/shop", "url": github.url}}


async def offered(place: Landable, record: RunRecord, **wanted: object) -> LandingResult:
    engine = place.engine()
    engine.store.environ = {**engine.store.environ, "GITHUB_TOKEN": TOKEN}
    return await land(
        engine.store, record.id, LandingRequest.model_validate({"who": "ann", "way": "pr", **wanted}), engine.person
    )


@pytest.mark.spec("USE-11", "LAW-9")
async def test_the_proven_commit_is_pushed_and_offered_once_and_a_closed_one_is_not_touched(
    place: Landable, github: GitHub
) -> None:
    record = await place.run(**forge(github))
    before = place.git("rev-parse", "main")
    landing = await offered(place, record)
    assert (landing.landed, landing.how, landing.commit) == (True, "pull request", record.head)
    assert place.git("ls-remote", "origin", f"refs/heads/{record.branch}").split()[0] == record.head
    (pull,) = github.pulls
    assert "returns twice its argument" in pull.body
    assert not pull.draft
    assert (await offered(place, record)).said == (f"{landing.url} shows this commit already",)
    assert len(github.pulls) == 1
    assert place.git("rev-parse", "main") == before
    github.close(1, merged=True)
    merged = await offered(place, record)
    assert (merged.landed, merged.code) == (False, 1)
    assert "merged and was not changed" in merged.why


@pytest.mark.spec("USE-11", "TIC-8")
async def test_unproven_work_is_offered_as_a_draft_only_and_its_title_says_so(place: Landable) -> None:
    record = await place.run(state="not proven", grade=Grade.UNPROVEN)
    assert (await offered(place, record)).code == 1
    landing = await offered(place, record, draft=True)
    assert landing.landed
    text = Path(landing.url).read_text()
    assert "# not proven: double numbers" in text
    assert place.git("rev-parse", "main") == place.base


@pytest.mark.spec("USE-11", "USE-6")
async def test_what_asks_for_trust_is_asked_about_before_anything_is_pushed(place: Landable, github: GitHub) -> None:
    record = await place.run({".github/workflows/ci.yml": "on: push\n"}, **forge(github))
    landing = await offered(place, record)
    assert (landing.landed, landing.code, list(landing.asks)) == (False, 3, [".github/workflows/ci.yml"])
    assert github.pulls == []
    assert place.git("ls-remote", "origin", record.branch) == ""
    assert (await offered(place, record, agree=landing.digest)).landed


@pytest.mark.spec("USE-11", "USE-7")
async def test_a_branch_with_other_work_at_the_remote_is_not_overwritten(place: Landable, github: GitHub) -> None:
    record = await place.run(**forge(github))
    other = place.committed({"other.py": "X = 1\n"})
    place.git("push", "-q", "origin", f"{other}:refs/heads/{record.branch}")
    with pytest.raises(BadInput, match="has other commits; it is not overwritten"):
        await offered(place, record)
    assert github.pulls == []
