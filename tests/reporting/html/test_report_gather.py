"""What a report reads besides the journal: the spool, which may contain anything."""

import json
from pathlib import Path

from trued.reporting.html.gather import READ, spooled
from trued.support.hashing import folder_name

KEY = "chunk 1A/purple-team-a#1"


def log(spool: Path, attempt: int, *lines: bytes) -> None:
    folder = spool / f"{folder_name(KEY)}.{attempt}"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b"\n".join(lines))


def test_lines_of_all_attempts_are_read_and_what_is_broken_is_left_out(tmp_path: Path) -> None:
    log(tmp_path, 1, b'{"at": 1, "kind": "log", "text": "first"}', b'{"at": 2, "kind": "lo')
    log(tmp_path, 2, b"\xff\xfe\x00", b"[1, 2]", b'{"at": 3, "kind": "log", "text": "second"}')
    found = spooled(tmp_path, KEY, 10)
    assert [one["text"] for one in found.events] == ["first", "second"]
    assert found.left_out == 0
    assert found.folder.endswith(".2")


def test_a_long_log_is_cut_and_says_so(tmp_path: Path) -> None:
    lines = [json.dumps({"at": n, "kind": "log", "text": f"line {n}"}).encode() for n in range(500)]
    log(tmp_path, 1, *lines)
    found = spooled(tmp_path, KEY, 7)
    assert [one["text"] for one in found.events] == [f"line {n}" for n in range(493, 500)]
    assert found.left_out == 493


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    for size in (READ // 100, READ // 64):  # with the second size, reading begins where a line begins
        key = f"{KEY}{size}"
        folder = tmp_path / f"{folder_name(key)}.1"
        folder.mkdir()
        line = json.dumps({"at": 1, "kind": "log", "text": "x" * size})[: size - 3] + '"}'
        assert len(line) == size - 1
        (folder / "events.jsonl").write_text(f"{line}\n" * 1000)
        before = bytes_read()
        found = spooled(tmp_path, key, 7)
        assert bytes_read() - before < 2 * READ
        whole = READ // size  # lines that begin in the part that is read
        assert (len(found.events), found.left_out) == (7, whole - 7)
        assert found.unread == (1000 - whole) * size


def bytes_read() -> int:
    """How many bytes this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_the_tenth_attempt_comes_after_the_second(tmp_path: Path) -> None:
    for attempt in (10, 2, 1, 9):
        log(tmp_path, attempt, b'{"kind": "log", "text": "%d"}' % attempt)
    found = spooled(tmp_path, KEY, 10)
    assert [one["text"] for one in found.events] == ["1", "2", "9", "10"]
    assert found.folder.endswith(".10")


def test_attempts_are_in_the_order_of_their_starts(tmp_path: Path) -> None:
    for attempt, began in ((1, 5.0), (2, 7.0), (3, 6.0)):
        log(tmp_path, attempt, b'{"kind": "log", "text": "%d"}' % attempt)
        (tmp_path / f"{folder_name(KEY)}.{attempt}" / "starts").write_text(f"{began} 1\n")
    assert [one["text"] for one in spooled(tmp_path, KEY, 10).events] == ["1", "3", "2"]


def test_a_call_without_a_spool_has_no_lines(tmp_path: Path) -> None:
    assert spooled(tmp_path / "gone", KEY, 5).events == ()
