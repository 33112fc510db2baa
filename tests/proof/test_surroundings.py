"""A case that passes only in one place is told apart from a case that passes only once."""

from pathlib import Path

import pytest

from tests.proof.trial import Trial
from trued.model import Grade, Judged

BASE = {
    "days.py": "def day():\n    raise NotImplementedError\n",
    "tests/test_day.py": (
        "import datetime\nimport days\n\n\ndef test_day():\n"
        "    assert days.day() == datetime.datetime.now(datetime.timezone.utc).date().isoformat()[:10] or days.WRONG\n"
    ),
}
TESTS = {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_day.py"]}


def cases(**expected: object) -> dict[str, object]:
    return {"kind": "examples", "cases": [{"call": "days:year", "args": [0], **expected}]}


async def judged(place: Path, head: str) -> Judged:
    asked = {"id": "r", "text": "day tells the day", "checks": [TESTS, cases(returns=1970)]}
    trial = Trial(place, BASE, [asked], variables={})
    verdict = await trial.prove(await trial.seal(), await trial.head({"days.py": head}))
    return verdict.requirements[0]


@pytest.mark.spec("LAW-6")
@pytest.mark.slow
async def test_a_test_that_hangs_on_the_date_is_not_counted_and_said(tmp_path: Path) -> None:
    local = (
        "import datetime\n\nWRONG = False\n\n\ndef day():\n    return datetime.date.today().isoformat()\n\n\n"
        "def year(at):\n    return datetime.datetime.fromtimestamp(at).year\n"
    )
    found = await judged(tmp_path, local)
    assert found.grade is Grade.PROVEN, found.why
    assert any("test_day depends on the date: not counted" in word for word in found.why)


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
async def test_a_test_that_passes_once_is_refuted(tmp_path: Path) -> None:
    once = (
        "import datetime\nimport pathlib\n\nWRONG = False\nDONE = pathlib.Path(__file__).with_name('done')\n\n\n"
        "def day():\n    if DONE.exists():\n        return ''\n    DONE.touch()\n"
        "    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()\n\n\n"
        "def year(at):\n    return 1970\n"
    )
    assert (await judged(tmp_path, once)).grade is Grade.REFUTED


@pytest.mark.slow
@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("here", ["socket.gethostname() == 'localhost'", "os.environ['HOME'].endswith('home')"])
@pytest.mark.many(1)
async def test_a_test_that_passes_on_one_machine_only_is_refuted(tmp_path: Path, here: str) -> None:
    local = (
        "import datetime\nimport os\nimport socket\n\nWRONG = False\n\n\n"
        f"def day():\n    if not ({here}):\n        return ''\n"
        "    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()\n\n\n"
        "def year(at):\n    return 1970\n"
    )
    assert (await judged(tmp_path, local)).grade is Grade.REFUTED
