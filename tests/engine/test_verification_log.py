"""The log of verifications: bounded, readable despite damaged lines, complete with many writers."""

import subprocess
import sys
from pathlib import Path

import pytest

from trued.engine.verification_log import FILE, KEPT, SLACK, VerificationLog, VerificationRecord
from trued.errors import StateFailed
from trued.model import Grade


def record(number: int, repository: str = "/repo") -> VerificationRecord:
    return VerificationRecord(
        at=float(number),
        seconds=1.0,
        repository=repository,
        base="b" * 40,
        head="c" * 40,
        state="done",
        grade=Grade.PROVEN,
        code=0,
        met=1,
        requirements=1,
    )


@pytest.mark.spec("PAGE-10", "PAGE-3")
def test_the_newest_thousand_are_kept_and_the_newest_comes_first(tmp_path: Path) -> None:
    log = VerificationLog(tmp_path)
    assert log.records() == []
    (tmp_path / FILE).write_text("".join(f"{record(number).model_dump_json()}\n" for number in range(KEPT + SLACK)))
    log.add(record(5000, "/other"))
    found = log.records()
    assert (len(found), found[0].at, found[-1].at) == (KEPT, 5000.0, SLACK + 1.0)
    assert [one.at for one in log.records(Path("/other"))] == [5000.0]


@pytest.mark.spec("PAGE-10")
def test_a_damaged_line_takes_no_other_with_it(tmp_path: Path) -> None:
    log = VerificationLog(tmp_path)
    log.add(record(1))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"at": 2, "half\xff\n[]\n')
    log.add(record(3))
    assert [one.at for one in log.records()] == [3.0, 1.0]


@pytest.mark.spec("PAGE-10")
def test_nothing_is_lost_where_several_verify_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.engine.test_verification_log import record\n"
        "from trued.engine.verification_log import VerificationLog\n"
        "for number in range(50): VerificationLog(Path(sys.argv[1])).add(record(number))"
    )
    (tmp_path / FILE).write_text("".join(f"{record(0).model_dump_json()}\n" for _ in range(KEPT + SLACK - 75)))
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[2]) for _ in "ab"]
    assert [one.wait() for one in both] == [0, 0]
    assert sum(one.at > 0 for one in VerificationLog(tmp_path).records()) == 98


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StateFailed, match="cannot write"):
        VerificationLog(tmp_path).add(record(1))
