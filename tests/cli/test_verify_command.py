"""`trued verify` as people and build servers call it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Each, Trued, clean_environment
from tests.engine.two_commits import REQUIREMENTS, WRONG, committed, git, project


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    project(tmp_path / "repo", WRONG)
    return tmp_path / "repo"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    file = tmp_path / "asked.yaml"
    file.write_text(REQUIREMENTS)
    return file


@pytest.mark.spec("USE-9", "USE-3")
def test_the_verdict_is_one_json_document_on_stdout_and_progress_is_on_stderr(
    repo: Path, asked: Path, trued: Trued, tmp_path: Path, home: Path
) -> None:
    (repo / "scratch.txt").write_text("not committed")
    words = ["verify", "--base", "repo@HEAD~1", "--head", "repo", "--requirements", "asked.yaml"]
    done = trued(*words, "--json", "--junit", "out.xml", "--markdown", "out.md")
    found = json.loads(done.stdout)
    assert done.returncode == found["code"] == 1
    assert list(found)[:2] == ["grade", "requirements"]
    row = found["requirements"][0]
    assert list(row)[:4] == ["id", "grade", "why", "evidence"]
    assert (found["grade"], row["id"], row["grade"]) == ("refuted", "double", "refuted")
    assert {one["side"] for one in row["evidence"]} == {"base", "head"}
    assert found["commit"] == git(repo, "rev-parse", "HEAD")
    assert found["isolation"] in (["bubblewrap"], ["landlock"])
    assert "on the base" in done.stderr
    assert "uncommitted changes, which are not checked: scratch.txt" in done.stderr
    assert ET.parse(tmp_path / "out.xml").getroot()[0].attrib["failures"] == "1"
    assert "| refuted |" in (tmp_path / "out.md").read_text()
    assert not (tmp_path / "home").exists(), "nothing is left in HOME"
    assert {path.name for path in home.iterdir()} <= {
        "verifications",
        "verified.json",
        "verified.jsonl",
        "verified.lock",
        "facts",
    }
    assert list((home / "verifications").iterdir()) == []
    _is_on_record(found, trued, repo, home, asked)
    _why_can_be_asked_after_it(trued, repo, home)


def _is_on_record(found: dict[str, object], trued: Trued, repo: Path, home: Path, asked: Path) -> None:
    assert (home / "verified.jsonl").stat().st_mode & 0o077 == 0
    (record,) = json.loads(trued("stats", "--json", cwd=repo).stdout)["verifications"]
    facts = {"base": git(repo, "rev-parse", "HEAD~1"), "head": found["commit"], "grade": "refuted", "code": 1}
    facts |= {"repository": str(repo), "state": "not proven", "met": 0, "requirements": 1}
    facts |= {"requirements_file": str(asked)}
    assert {name: record[name] for name in facts} == facts
    assert "double(21)" not in (home / "verified.jsonl").read_text()  # the log holds neither cases nor evidence
    assert "1 verification, 0 with every requirement met" in trued("stats", cwd=repo).stdout
    # outside a repository: of all repositories
    assert json.loads(trued("stats", "--json", cwd=home).stdout)["verifications"] == [record]


def _why_can_be_asked_after_it(trued: Trued, repo: Path, home: Path) -> None:
    for folder in (repo, repo.parent):
        done = trued("why", "doub", cwd=folder)
        assert done.returncode == 0, done.stderr
        for part in (
            "double refuted",
            "from: asked.yaml:2",
            "tiny:double(5) → 10",
            "examples on head",
            "reproduce: trued verify",
        ):
            assert part in done.stdout, (part, done.stdout)
    assert json.loads(trued("why", "double", "--json").stdout)["id"] == "double"
    committed(repo.parent / "elsewhere", {"a": ""})
    away = trued("why", "double", cwd=repo.parent / "elsewhere")
    assert (away.returncode, away.stderr.count("\n")) == (2, 1)
    assert f"the last verification, which was in {repo}" in away.stderr
    other = trued("why", "nothing", cwd=repo)
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert (home / "verified.json").stat().st_mode & 0o077 == 0


@pytest.mark.spec("USE-4")
def test_without_a_change_the_checks_are_counted_on_the_head_all_the_same(
    repo: Path, asked: Path, trued: Trued
) -> None:
    done = trued("verify", "--base", "HEAD", "--requirements", str(asked), cwd=repo)
    assert "examples 1/2 twice (base 1/2)" in done.stdout, done.stdout
    assert "not run" not in done.stdout


@pytest.mark.spec("USE-4")
def test_people_read_grade_reason_evidence_and_one_command_to_do_it_again(
    repo: Path, asked: Path, trued: Trued
) -> None:
    done = trued("verify", "--base", "HEAD~1", "--requirements", str(asked), cwd=repo)
    assert done.returncode == 1
    for part in (
        "✗ refuted     double  ",
        "“double(x) returns twice its argument”  asked.yaml:2",
        "examples 1/2 twice (base 0/2), held out · rests on",
        "✗ case 2: tiny:double(5)\n",
        "expected  10\n",
        "got       42\n",
        "not proven: 0 of 1 requirement met",
    ):
        assert part in done.stdout, (part, done.stdout)
    assert "\x1b" not in done.stdout + done.stderr
    again = done.stdout.partition("reproduce: ")[2].splitlines()[0].split()
    repeated = trued(*again[1:], "--json", cwd=repo)
    assert (repeated.returncode, json.loads(repeated.stdout)["grade"]) == (1, "refuted")


@pytest.mark.spec("USE-7")
def test_bad_input_is_one_sentence_and_changes_nothing(repo: Path, asked: Path, each: Each, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("requirements:\n  - id: a\n    text: b\n    cheks: []\n")
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty.md").write_text("nothing\n")
    good = ["--requirements", str(asked)]
    lines = {
        "no commit 'nope'": ["--base", "repo@nope", "--head", "repo", *good],
        "does not exist": ["--base", "nowhere", "--head", "repo", *good],
        "is not in a git repository": ["--base", "plain", "--head", "repo", *good],
        "there is no file": ["--base", "repo", "--head", "repo", "--requirements", "none.yaml"],
        "is a folder": ["--base", "repo", "--head", "repo", "--requirements", "plain"],
        "bad.yaml:4": ["--base", "repo", "--head", "repo", "--requirements", "bad.yaml"],
        "no requirements were recognised in": [
            "--base",
            "repo",
            "--head",
            "repo",
            "--requirements",
            "empty.md",
        ],
        "is not a requirements file": ["--base", "repo", "--head", "repo", "--requirements", "repo/tiny.py"],
        "cannot tell where the work": ["--head", "repo", *good],
        "it should be 'auto', 'bubblewrap'": ["--base", "repo", "--head", "repo", "--sandbox", "moat", *good],
        "--allow-unsandboxed": ["--base", "repo", "--head", "repo", "--sandbox", "none", *good],
        "can never be enough": ["--base", "repo", "--head", "repo", "--accept", "refuted", *good],
        "there is no folder": ["--base", "repo", "--head", "repo", *good, "--junit", "none/such/file.xml"],
        "asked.yaml": ["--base", "repo", "--head", "repo", *good, "--receipt", "asked.yaml/receipt.json"],
        "plain is a folder": ["--base", "repo", "--head", "repo", *good, "--markdown", "plain"],
        ". is a folder": ["--base", "repo", "--head", "repo", *good, "--junit", "."],
        "none.json": ["none.json"],
        "use --head main": ["main", *good],
        "--markdown - both write to stdout": ["--base", "repo", "--json", "--markdown", "-", *good],
        "--junit - both write to stdout": ["--base", "repo", "--json", "--junit", "-", *good],
    }
    for said, done in zip(lines, each(*(["verify", *words] for words in lines.values())), strict=True):
        assert done.returncode in (2, 6), (said, done.stderr)
        assert said in done.stderr, (said, done.stderr)
        assert "Traceback" not in done.stderr
        assert done.stdout == "", said
        assert "trued: unexpected" not in done.stderr
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.spec("USE-6")
def test_what_is_said_of_a_check_is_no_markup_on_a_terminal_either() -> None:
    script = (
        "from trued.cli.verification_lines import VerifyProgress\n"
        "from trued.model.events.proof import CheckRan\n"
        "with VerifyProgress() as one: one.show(CheckRan(check='', sort='tests', turn=1, void='no [/b] here'))"
    )
    above, below = pty.openpty()
    environment = {**clean_environment(), "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", script], stdin=below, stdout=subprocess.PIPE, stderr=below, env=environment, timeout=60
    )
    os.close(below)
    shown = os.read(above, 1 << 16)
    os.close(above)
    assert (done.returncode, b"Traceback" in shown) == (0, False)


@pytest.mark.slow
@pytest.mark.spec("LAW-8")
def test_a_lowered_bar_is_said_everywhere(repo: Path, asked: Path, trued: Trued, tmp_path: Path) -> None:
    committed(repo, {"tiny.py": "def double(x):\n    return 2 * x\n", "asked.yaml": REQUIREMENTS})
    words = ["verify", "--base", "repo@HEAD~2", "--head", "repo", "--requirements", "repo/asked.yaml"]
    strict = trued(*words)
    assert strict.returncode == 3
    assert "○ tested" in strict.stdout
    assert "--accept tested" in strict.stderr
    done = trued(*words, "--accept", "tested", "--markdown", "-", "--junit", "out.xml")
    assert done.returncode == 0
    assert "the bar was lowered" in done.stdout
    assert "the bar was lowered" in (tmp_path / "out.xml").read_text()


@pytest.mark.slow
@pytest.mark.spec("LAW-10")
def test_a_verdict_is_taken_away_as_a_receipt_and_checked(repo: Path, asked: Path, trued: Trued) -> None:
    words = ["verify", "--base", "repo@HEAD~1", "--head", "repo", "--requirements", "asked.yaml"]
    done = trued(*words, "--receipt", "r.json", "--bundle", "bundle", "--why", "double")
    assert done.returncode == 1
    assert "double refuted" in done.stdout
    bare = trued("verify", "r.json", "--bundle", "bundle", "--head", "repo", "--sandbox", "none")
    assert "--allow-unsandboxed" in bare.stderr, bare.stderr  # the receipt's commands run in the sandbox that was named
    again = trued("verify", "r.json", "--bundle", "bundle", "--head", "repo")
    assert again.returncode == 1
    assert "the digest matches" in again.stdout
    assert "proven again here: the same statement" in again.stdout


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    "words",
    [
        *(["r.json", *option] for option in (["--accept", "tested"], ["--requirements", "asked.yaml"], ["--quick"])),
        ["r.json", "--junit", "out.xml"],
        ["r.json", "--sandbox", "none"],
        ["--key", "signer.pub"],
    ],
)
def test_no_option_is_ignored_because_a_receipt_is_there_or_not(
    words: list[str], repo: Path, asked: Path, trued: Trued, tmp_path: Path
) -> None:
    (tmp_path / "r.json").write_text("{}")
    done = trued("verify", *words)
    assert done.returncode == 2
    assert f"{next(word for word in words if word.startswith('--'))} has no effect with" in done.stderr, done.stderr


@pytest.mark.spec("USE-6")
def test_hostile_texts_steer_no_terminal(repo: Path, trued: Trued, tmp_path: Path) -> None:
    evil = "ok\\x1b[2J\\x1b]0;x\\x07\\u202e\\r✓ proven"
    (tmp_path / "evil.json").write_text(json.dumps({"requirements": [{"id": "a", "text": "\x1b[31mred\x07\u202e"}]}))
    committed(repo, {"CHECKLIST.md": f"- [ ] {evil.encode().decode('unicode_escape', 'replace')}\n", "a.py": "1"})
    for words in (["--requirements", str(tmp_path / "evil.json")], []):
        done = trued("verify", "--base", "HEAD~1", *words, cwd=repo)
        assert done.returncode == 3, done.stderr
        assert not any(char in done.stdout + done.stderr for char in "\x1b\x07\r\u202e")


def test_an_interrupted_verification_leaves_nothing(repo: Path, tmp_path: Path, home: Path) -> None:
    slow = REQUIREMENTS.replace('{call: "tiny:double", args: [5], returns: 10}', '{run: ["sleep", "60"], within_s: 90}')
    (tmp_path / "slow.yaml").write_text(slow)
    words = ["verify", "--base", "repo@HEAD~1", "--head", "repo", "--requirements", "slow.yaml"]
    environment = {**clean_environment(), "TRUED_HOME": str(home), "HOME": str(tmp_path / "home")}
    process = subprocess.Popen(
        [sys.executable, "-m", "trued", *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    places = home / "verifications"
    until = time.monotonic() + 60
    while not list(places.glob("*/runs/verify/rooms/x*")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.strip().splitlines()[-1].startswith("trued: interrupted")
    assert list(places.iterdir()) == []
