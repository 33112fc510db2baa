"""The gate's hooks are added to existing settings, and removed without a trace."""

import json
from pathlib import Path
from typing import Any

import pytest

from trued.errors import BadInput
from trued.gate import claude
from trued.gate.claude_stop import EVENTS
from trued.gate.state import InstalledFile

COMMAND = "trued gate hook claude || exit 1"
OTHERS = {"hooks": [{"type": "command", "command": "say done"}]}
FORMER: dict[str, bytes] = {
    "empty": b"{}",
    "empty, spread out": b"{\n}\n",
    "other keys": b'{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    "one line": b'{"model":"opus","env":{"A":"1"}}',
    "tabs": b'{\n\t"env": {\n\t\t"A": "{[\\"]}"\n\t}\n}\n',
    "four spaces": b'{\n    "hooks": {\n        "PreToolUse": []\n    }\n}',
    "windows": b'{\r\n  "model": "opus"\r\n}\r\n',
    "mark": b'\xef\xbb\xbf{"model": "opus"}\n',
    "other stop hook": json.dumps({"hooks": {"Stop": [OTHERS]}, "z": 1}, indent=2).encode(),
    "both events": json.dumps({"hooks": {"SubagentStop": [OTHERS], "Stop": [OTHERS, OTHERS]}}).encode(),
    "empty lists": b'{"hooks": {"Stop": [], "SubagentStop": [ ]}}\n',
    "empty hooks": b'{"hooks": { } , "a": null}\n',
    "letters": '{"statusLine": "größer → ☃"}\n'.encode(),
    "numbers as they are": b'{"a": 1.50, "b": 1e3, "c": -0.0}\n',
}


def settings(folder: Path, content: bytes | None) -> Path:
    path = folder / claude.LOCAL
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def entries(path: Path, event: str) -> list[Any]:
    found: list[Any] = json.loads(path.read_bytes().decode("utf-8-sig"))["hooks"][event]
    return found


@pytest.mark.parametrize("former", FORMER.values(), ids=FORMER)
def test_what_else_is_in_the_settings_stays_and_removing_brings_back_every_byte(tmp_path: Path, former: bytes) -> None:
    path = settings(tmp_path, former)
    installed = claude.install(tmp_path, COMMAND, 600, None)
    now = json.loads(path.read_bytes().decode("utf-8-sig"))
    before = json.loads(former.decode("utf-8-sig"))
    for event in EVENTS:
        *others, ours = now["hooks"][event]
        assert ours["hooks"][0]["command"] == COMMAND
        assert others == before.get("hooks", {}).get(event, [])
    assert {key: value for key, value in now.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    assert claude.problem(installed) == ""
    claude.remove(installed)
    assert path.read_bytes() == former


@pytest.mark.parametrize("former", [None, *FORMER.values()], ids=["none", *FORMER])
def test_installing_twice_is_installing_once(tmp_path: Path, former: bytes | None) -> None:
    path = settings(tmp_path, former)
    first = claude.install(tmp_path, COMMAND, 600, None)
    once = path.read_bytes()
    second = claude.install(tmp_path, COMMAND, 600, first)
    assert path.read_bytes() == once
    claude.remove(second)
    assert (path.read_bytes() if path.exists() else None) == former
    assert former is not None or not path.parent.exists()


def test_another_command_replaces_ours_and_nothing_else(tmp_path: Path) -> None:
    path = settings(tmp_path, FORMER["other stop hook"])
    first = claude.install(tmp_path, COMMAND, 600, None)
    second = claude.install(tmp_path, f"A=1 {COMMAND}", 300, first)
    assert [len(entries(path, event)) for event in EVENTS] == [2, 1, 1, 1, 1]
    assert entries(path, "Stop")[1]["hooks"][0] == {"type": "command", "command": f"A=1 {COMMAND}", "timeout": 360}
    claude.remove(second)
    assert path.read_bytes() == FORMER["other stop hook"]


def test_what_somebody_added_after_the_installation_survives_the_removal(tmp_path: Path) -> None:
    path = settings(tmp_path, FORMER["other keys"])
    installed = claude.install(tmp_path, COMMAND, 600, None)
    path.write_bytes(path.read_bytes().replace(b'"opus"', b'"sonnet"'))
    assert claude.problem(installed) == ""
    claude.remove(installed)
    assert json.loads(path.read_bytes()) == {**json.loads(FORMER["other keys"]), "model": "sonnet"}


def test_an_entry_that_was_taken_out_is_said(tmp_path: Path) -> None:
    path = settings(tmp_path, FORMER["other keys"])
    installed = claude.install(tmp_path, COMMAND, 600, None)
    path.write_bytes(FORMER["other keys"])
    assert "changed or removed" in claude.problem(installed)
    path.unlink()
    assert "was removed" in claude.problem(installed)
    path.write_bytes(installed.after)
    assert claude.problem(installed) == ""
    path.with_name("settings.local.json").write_text('{"disableAllHooks": true}')
    assert "disables all hooks" in claude.problem(installed)


def test_an_installed_file_is_stored_as_text_in_which_every_byte_is_a_character() -> None:
    content = bytes(range(256))
    installed = InstalledFile(path="settings.json", after=content)
    stored = installed.model_dump_json()
    assert json.loads(stored) == {
        "path": "settings.json",
        "before": None,
        "after": content.decode("latin-1"),
        "folders": [],
        "moved": "",
    }
    assert InstalledFile.model_validate_json(stored) == installed


@pytest.mark.parametrize(
    ("former", "where"),
    [
        (b'{\n  "a": 1,\n}', ":3"),
        (b"// mine\n{}", ":1"),
        (b"[]", ":1"),
        (b'{"a": 1,\n "hooks": []}', ":2"),
        (b'{"hooks": {\n"Stop": {}}}', ":2"),
        (b"\xff\xfe", ""),
        (b"", ":1"),
    ],
)
def test_malformed_settings_are_refused_in_one_sentence_and_left_alone(
    tmp_path: Path, former: bytes, where: str
) -> None:
    path = settings(tmp_path, former)
    with pytest.raises(BadInput) as caught:
        claude.install(tmp_path, COMMAND, 600, None)
    assert str(caught.value).startswith(f"{claude.LOCAL}{where}: ")
    assert path.read_bytes() == former


def test_a_link_out_of_the_repository_is_not_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    root = tmp_path / "root"
    (root / ".claude").mkdir(parents=True)
    (root / claude.LOCAL).symlink_to(elsewhere)
    with pytest.raises(BadInput, match="outside the repository"):
        claude.install(root, COMMAND, 600, None)
    assert elsewhere.read_text() == "{}"


@pytest.mark.parametrize("former", [b'{"hooks": {}, "hooks": {}}', b'{"hooks": {"Stop": [], "Stop": [1]}}'])
def test_settings_that_programs_read_in_two_ways_are_refused(tmp_path: Path, former: bytes) -> None:
    path = settings(tmp_path, former)
    with pytest.raises(BadInput, match="occurs twice"):
        claude.install(tmp_path, COMMAND, 600, None)
    assert path.read_bytes() == former


def test_the_settings_keep_their_indentation_and_line_ends(tmp_path: Path) -> None:
    path = settings(tmp_path, b'{\r\n\t"a": "\xc3\xb6"\r\n}\r\n')
    claude.install(tmp_path, COMMAND, 600, None)
    assert path.read_bytes().startswith(b'{\r\n\t"a": "\xc3\xb6",\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n')
    assert path.read_bytes().endswith(b"}\r\n")
