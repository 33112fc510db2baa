from pathlib import Path
from subprocess import run

from trued.workspace.git.batch import BatchAnswer, batch_input, parse_batch


def test_each_name_gets_an_answer_in_its_order_whatever_the_content_looks_like(tmp_path: Path) -> None:
    def git(*words: str, stdin: bytes = b"") -> bytes:
        return run(["git", "-C", tmp_path, *words], input=stdin, capture_output=True, check=True).stdout

    git("init", "-q")
    contents = [b"", b"\n", b"no newline at the end", b"one missing\ntwo blob 3\n\xff\0"]
    hashes = [git("hash-object", "-w", "--stdin", stdin=content).decode().strip() for content in contents]
    names = [hashes[0], "HEAD:a file 7", hashes[1], hashes[2], "0" * 40, hashes[3]]

    answers = [*parse_batch(git("cat-file", "--batch", stdin=batch_input(names)))]

    assert [answer.name for answer in answers] == names
    assert [answer.content for answer in answers if answer.kind == "blob"] == contents
    assert [answers[1], answers[4]] == [
        BatchAnswer("HEAD:a file 7", "missing", None),
        BatchAnswer("0" * 40, "missing", None),
    ]


def test_no_output_is_no_answer() -> None:
    assert [*parse_batch(b"")] == []
