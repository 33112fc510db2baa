"""What can be read from a call's folder while the call is at work."""

import json
from pathlib import Path

import pytest

from trued.agents.spool.call_folder import attempts_of, read_events_from
from trued.support.hashing import folder_name


@pytest.mark.spec("PAGE-2", "PAGE-3")
def test_a_transcript_is_read_on_from_the_byte_where_reading_stopped(tmp_path: Path) -> None:
    file, lines = tmp_path / "events.jsonl", [json.dumps({"kind": "log", "text": f"ä{n}"}) + "\n" for n in range(50)]
    assert read_events_from(tmp_path, 0) == ([], 0)  # the call has not begun
    found, offset = [], 0
    for line in lines:
        raw = line.encode()
        for piece in (raw[:9], raw[9:]):  # half a line, then the rest of it
            with file.open("ab") as writing:
                writing.write(piece)
            rows, offset = read_events_from(tmp_path, offset)
            found += rows
    assert found == [json.loads(line) for line in lines]
    assert offset == file.stat().st_size
    pages, offset = [], 0
    while (page := read_events_from(tmp_path, offset, most=100))[0]:
        assert len(page[0]) <= 4
        pages += page[0]
        offset = page[1]
    assert pages == found


@pytest.mark.spec("PAGE-2")
def test_a_broken_line_of_a_transcript_is_left_out_and_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"kind": "began"}\n\xff{broken\n{"kind": "ended"}\n{"kind": "ha')
    rows, offset = read_events_from(tmp_path, 0)
    assert [one["kind"] for one in rows] == ["began", "ended"]
    assert read_events_from(tmp_path, offset) == ([], offset)


def test_attempts_of_a_call_come_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    key = "chunk 1A/dev#1"
    made = [f"{folder_name(key)}{end}" for end in (".1", ".2", ".w1.1", ".q1.1")]
    for number, name in enumerate(made):
        (tmp_path / name).mkdir()
        (tmp_path / name / "starts").write_text(f"{100 + number}.5 4711\n")
    (tmp_path / f"{folder_name('chunk 1A/dev#2')}.1").mkdir()
    (tmp_path / f"{folder_name(key)}.notes").mkdir()
    assert [path.name for _, path in attempts_of(tmp_path, key)] == made
    assert [number for number, _ in attempts_of(tmp_path, key)] == [1, 2, 1, 1]
