"""One-shot attempts, premature victories, guesswork and meddling are reported only if facts show them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.inputs.project.shell import simple_commands
from trued.workflows.handoff.failure_modes import (
    EVIDENCE_LIMIT,
    CoderClaims,
    EngineCounts,
    guesswork,
    meddling,
    one_shot,
    premature_victory,
)
from trued.workflows.handoff.feature_list import Feature, FeatureList, render
from trued.workflows.handoff.init_script import init_script

FILE = "feature_list.json"
BEFORE = render(
    FeatureList(
        features=(
            Feature(id="a", description="first", steps=("one", "two"), test_command="python -m pytest tests/a.py"),
            Feature(id="b", description="second", passes=True),
        )
    )
)


def tried(change: Any) -> list[tuple[str, str]]:
    value = json.loads(BEFORE)
    value = change(value) or value
    return [(one.feature, one.evidence) for one in meddling(BEFORE, json.dumps(value), FILE, "a")]


def feature(value: dict[str, Any], place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = value["features"][place]
    return found


@pytest.mark.spec("HAND-3", "HAND-11")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda v: feature(v).update(passes=True), ("a", "passes of a was written: false → true")),
        (lambda v: feature(v).update(steps=["one"]), ("a", 'steps of a was edited: ["one", "two"] → ["one"]')),
        (lambda v: feature(v, 1).update(test_command="true"), ("b", 'test_command of b was edited: "" → "true"')),
        (lambda v: feature(v).update(description="x"), ("a", 'description of a was edited: "first" → "x"')),
        (lambda v: feature(v).update(mine=1), ("a", "mine of a was edited: nothing → 1")),
        (lambda v: feature(v, 1).pop("agent_notes"), ("b", 'agent_notes of b was written: "" → nothing')),
        (lambda v: v["features"].__delitem__(0), ("a", "feature a was removed")),
        (lambda v: v["features"].append({"id": "c"}), ("c", 'a feature was added: "c"')),
        (lambda v: v["features"].append(dict(feature(v))), ("a", 'a feature was added: "a"')),
        (lambda v: v.update(completed=2), ("a", "totals changed: completed 1 → 2")),
        (lambda v: v["features"].reverse(), ("a", "the order of the features was changed")),
        (lambda v: {"features": "gone"}, ("a", "the file was made unreadable")),
        (lambda v: {**v, "features": ["x"]}, ("a", "the file was made unreadable")),
    ],
    ids=range(13),
)
def test_each_way_of_meddling_with_the_list_has_its_name(change: Any, expected: tuple[str, str]) -> None:
    assert tried(change) == [(expected[0], f"{FILE}: {expected[1]}")]


@pytest.mark.spec("HAND-3", "HAND-11")
def test_several_tries_are_all_told_and_none_where_nothing_changed() -> None:
    def everything(value: dict[str, Any]) -> None:
        feature(value).update(passes=True, tests_passing=9, steps=[])
        value["features"].pop(1)

    assert [name for name, _ in tried(everything)] == ["a", "a", "a", "b"]
    assert tried(lambda v: None) == []  # other white space is no edit
    assert meddling(BEFORE, BEFORE, FILE) == ()
    assert meddling(BEFORE, None, FILE)[0].evidence == f"{FILE}: the file was deleted"
    assert meddling(BEFORE, "{", FILE)[0].evidence == f"{FILE}: the file was made unreadable"


@pytest.mark.spec("HAND-3")
@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["features", "id", "x"]), part),
    )
)
def test_whatever_an_agent_leaves_is_named_and_bounded(value: object) -> None:
    for text in (json.dumps(value), json.dumps({"features": [value]})):
        found = meddling(BEFORE, text, FILE)
        assert found
        assert all(len(one.evidence) <= EVIDENCE_LIMIT + 10 for one in found)


COUNTED = EngineCounts(
    passes=False,
    tests_passing=15,
    tests_total=20,
    files=frozenset({"tests/test_a.py", "app/x.py"}),
    changed=frozenset({"app/x.py", "app/old.py"}),
)


def files(path: str) -> str | None:
    return "def test_one(): ...\nclass TestIt:\n    def test_two(self): ...\n" if path == "tests/test_a.py" else None


@pytest.mark.spec("HAND-11")
@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        (CoderClaims(), []),
        (CoderClaims(tests_passing=15, tests_total=20, tests=("tests/test_a.py::TestIt::test_two[x-1]",)), []),
        (CoderClaims(tests=("test_one", "all of them pass")), []),
        (
            CoderClaims(passes=True),
            ["says that the feature passes; it does not hold, and the engine counted 15 of 20 tests"],
        ),
        (
            CoderClaims(tests_passing=20, tests_total=20),
            ["says that 20 of 20 tests pass; the engine counted 15 of 20 tests"],
        ),
        (
            CoderClaims(tests=("tests/test_b.py::test_x",)),
            ["names the test tests/test_b.py::test_x, and tests/test_b.py is not in the commit"],
        ),
        (
            CoderClaims(tests=("tests/test_a.py::test_three",)),
            ["names the test tests/test_a.py::test_three, and tests/test_a.py does not contain test_three"],
        ),
        (
            CoderClaims(tests=("`./tests/test_a.py::test_three`", "`tests/test_a.py::test_one`")),
            ["names the test `./tests/test_a.py::test_three`, and tests/test_a.py does not contain test_three"],
        ),
        (
            CoderClaims(tests=("tests/test_a.py:7::test_three", "tests/test_a.py:1::test_one")),
            ["names the test tests/test_a.py:7::test_three, and tests/test_a.py:7 does not contain test_three"],
        ),
        (
            CoderClaims(files=("app/x.py", "app", "app/y.py")),
            ["says that it changed app/y.py, which is not in the commit"],
        ),
        (CoderClaims(files=("app/x.py", "app/old.py")), []),  # it removed app/old.py
        (
            CoderClaims(tests=("app/old.py::test_it",)),
            ["names the test app/old.py::test_it, and app/old.py is not in the commit"],
        ),
    ],
    ids=range(12),
)
def test_a_claim_over_red_is_a_premature_victory(claimed: CoderClaims, expected: list[str]) -> None:
    found = premature_victory("a", claimed, COUNTED, files)
    assert [one.evidence for one in found] == expected
    assert all((one.name, one.feature) == ("premature victory", "a") for one in found)


@pytest.mark.spec("HAND-11")
def test_a_true_claim_is_no_victory_too_early() -> None:
    green = EngineCounts(passes=True, tests_passing=20, tests_total=20, files=COUNTED.files)
    assert premature_victory("a", CoderClaims(passes=True, tests_passing=20, tests_total=20), green, files) == ()


@pytest.mark.spec("HAND-7", "HAND-11")
def test_a_commit_that_turns_other_features_green_is_a_one_shot_attempt() -> None:
    (mode,) = one_shot("a", ["a", "b", "c"])
    assert (mode.name, mode.evidence) == ("one-shot attempt", "its commit also turns green: b, c")
    assert one_shot("a", ["a"]) == ()
    assert one_shot("a", []) == ()


FILES = {
    "requirements.txt": "",
    "frontend/package.json": "{}",
    "frontend/package-lock.json": "{}",
    "app/__init__.py": "",
}
SCRIPT = init_script(
    FILES, FILES.get, start="uvicorn app:app --reload", test="python -m pytest", more=("playwright install chromium",)
)

GUESSES = [
    "pip install flask",
    "cd x && pip3 install -q 'flask>2'",
    "FOO=1 python3 -m pip install flask",
    "sudo -u me apt-get install -y jq",
    "env A=b timeout 30 npm install left-pad",
    'bash -lc "cd web && npm install"',
    "sh -c 'sh -c \"yarn add x\"'",
    "(cd frontend; yarn)",
    "true || .venv/bin/pip install -r other.txt > log.txt 2>&1",
    "if true; then poetry add x; fi",
    "uv pip install x",
    "npx playwright install firefox",
    "curl -s https://example.org/i.sh | sh",
    "pip install \\\n  flask",
    "x=$(go install example.org/x@latest)",
    "brew install jq # needed",
    "pacman -Sy jq",
    "python setup.py develop",
    "flask run",
    "python -m http.server 8000 &",
    "nohup node server.js > out.log &",
    "python manage.py runserver",
    "npm start",
    "npm --prefix frontend run dev",
    "uv run gunicorn other:app",
    "python backend/app.py",
    "echo 'unbalanced && pip install x",
    "cat <<EOF\ntext\nEOF\npip install x",
]


@pytest.mark.spec("HAND-11")
@pytest.mark.parametrize("line", GUESSES)
def test_an_installer_or_server_that_init_sh_does_not_hold_is_guesswork(line: str) -> None:
    (mode,) = guesswork([line], SCRIPT, "a")
    assert (mode.name, mode.feature) == ("guesswork", "a")
    assert "that init.sh does not contain: " in mode.evidence


KNOWN = [
    "./init.sh",
    "bash init.sh && python -m pytest -q",
    ".venv/bin/python -m pip install -r requirements.txt",
    "pip install -r requirements.txt -q",
    "cd frontend && npm ci",
    "playwright install chromium",
    "uvicorn app:app --port 8001 &",
    "python -m uvicorn app:app",
]
HARMLESS = [
    "",
    "echo 'pip install flask' >> README.md",
    'git commit -m "pip install works"',
    "# pip install flask",
    "cat > README.md <<'EOF'\npip install flask\nnpm start\nEOF",
    "grep -rn 'npm install' .",
    "pip --version; pip list; npm test; npm run build; yarn --version",
    "pip install --help",
    "python -m app",
    "python -m pytest tests/test_server.py",
    "node --test",
    "which flask",
]


@pytest.mark.spec("HAND-11")
@pytest.mark.parametrize("line", [*KNOWN, *HARMLESS])
def test_what_init_sh_holds_and_what_only_speaks_of_it_is_none(line: str) -> None:
    assert guesswork([line], SCRIPT) == ()


@pytest.mark.spec("HAND-11")
def test_every_line_that_init_sh_knows_is_guesswork_without_it() -> None:
    assert [bool(guesswork([line], "")) for line in KNOWN] == [False, False, *[True] * 6]


@settings(max_examples=100)
@given(st.text(st.sampled_from("pip install&|;()<>\"'`$\\\n#=-a{}"), max_size=40))
def test_no_command_line_is_too_strange_to_be_taken_apart(line: str) -> None:
    assert all(words and words[0] is not None for words, _ in simple_commands(line))
    assert len(guesswork([line, line], line)) <= 40


def test_shells_in_shells_end() -> None:
    line = "pip install x"
    for _ in range(8):
        line = "sh -c '" + line.replace("'", "'\"'\"'") + "'"
    assert len(guesswork([line[:20_000]], "")) <= 1
    assert guesswork(["x <<A\n" * 5000], "") == ()
