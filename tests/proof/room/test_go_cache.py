"""The compiled standard library that all checks of Go share: nobody who is judged can write to it."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Trial
from trued.model import Contract, Grade, Tried
from trued.model.evidence import Verdict
from trued.proof.room.environment import FOLDER
from trued.proof.room.go_cache import OFFLINE, may_fetch, missing_go_package, module_name, uses_go, with_settings
from trued.proof.verdict.missing import missing_part

TESTS = {"kind": "tests", "command": "go test ./..."}
RUNS = [{"run": ["go", "run", "."], "stdin": text, "stdout": f"{text}!"} for text in ("a", "b c")]
EXAMPLES = {"kind": "examples", "cases": RUNS}


def asked(*checks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "r", "text": "it works", "checks": list(checks)}]


# -- what is read ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "files", "uses"),
    [
        (TESTS, (), True),
        (EXAMPLES, (), True),
        ({"kind": "command", "command": "make test"}, ("go.mod",), True),
        ({"kind": "command", "command": "make test"}, ("inner/go.mod",), False),
        ({"kind": "command", "command": "gotestsum ./..."}, (), True),
        ({"kind": "tests", "command": "python -m pytest"}, (), False),
        ({"kind": "command", "command": "echo cargo go"}, (), False),
        ({"kind": "manual", "steps": ["look at it"]}, ("go.mod",), False),
    ],
)
def test_only_contracts_that_run_go_get_its_library(check: dict[str, Any], files: tuple[str, ...], uses: bool) -> None:
    assert uses_go(Contract.model_validate({"base": "0" * 40, "requirements": asked(check)}), files) is uses


@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize(
    ("text", "own", "name"),
    [
        ("m.go:3:8: no required module provides package rsc.io/quote; to add it:", (), "rsc.io/quote"),
        ("cannot find module providing package rsc.io/quote: import lookup disabled", (), "rsc.io/quote"),
        ("m.go:3:8: rsc.io/quote@v1.5.2: module lookup disabled by GOPROXY=off", (), "rsc.io/quote"),
        ("go: rsc.io/quote/v3@v3.1.0: module lookup disabled by GOPROXY=off", (), "rsc.io/quote/v3"),
        ("no required module provides package rsc.io/quote/own; to add it:", ("rsc.io/quote",), ""),
        ("no required module provides package fmtt; to add it:", (), ""),
        ("undefined: Double", (), ""),
    ],
)
def test_the_module_that_is_not_there_is_named_and_no_package_of_the_project(
    text: str, own: tuple[str, ...], name: str
) -> None:
    assert missing_go_package(text, own) == name


@pytest.mark.spec("DAY-2")
@pytest.mark.parametrize("check", [TESTS, EXAMPLES])
def test_whoever_lacks_a_module_reads_how_to_bring_it(check: dict[str, Any]) -> None:
    (only,) = Contract.model_validate({"base": "0" * 40, "requirements": asked(check)}).requirements
    lost = missing_part(only.checks[0], Tried(id="case 1", outcome="unjudged", kind="module rsc.io/quote"))
    assert lost.name == "rsc.io/quote"
    assert "go mod vendor" in lost.fix


def test_a_manifest_names_its_module_and_variables_of_the_contract_are_kept() -> None:
    assert module_name('// a\nmodule "example.org/x"\n\ngo 1.19\n') == "example.org/x"
    assert module_name("go 1.19\n") == ""
    assert with_settings({"GODEBUG": "goindex=0", "A": "1"}, {"GODEBUG": "x=1", "A": "2"}) == {
        "GODEBUG": "goindex=0,x=1",
        "A": "2",
    }
    assert with_settings({}, {"B": "1"}) == {"B": "1"}


def test_a_preparation_may_ask_the_users_proxy_and_no_check_may() -> None:
    assert OFFLINE["GOPROXY"] == "off"
    assert may_fetch({**OFFLINE, "A": "1"}) == {**{k: v for k, v in OFFLINE.items() if k != "GOPROXY"}, "A": "1"}
    assert may_fetch({"GOPROXY": "https://own.example.org"}) == {"GOPROXY": "https://own.example.org"}


# -- the real Go -------------------------------------------------------------------------------------------------------

NAMED = "module example.org/tally\n\ngo 1.19\n"
MAIN = 'package main\n\nimport (\n\t"fmt"\n\t"io"\n\t"os"\n)\n\nfunc main() {\n\ttext, _ := io.ReadAll(os.Stdin)\n'
TEST = (
    'package {0}\n\nimport "testing"\n\nfunc Test{1}(t *testing.T) {{\n\tif {1}() != {2} {{\n\t\tt.Fatal(0)\n\t}}\n}}\n'
)
BASE: dict[str, str | None] = {
    "go.mod": NAMED,
    "main.go": f'{MAIN}\tfmt.Print(string(text), "?")\n}}\n',
    "a/a.go": "package a\n\nfunc One() int { return 1 }\n",
    "a/a_test.go": TEST.format("a", "One", 1),
    "b/b.go": "package b\n\nfunc Two() int { return 1 }\n",
    "b/b_test.go": TEST.format("b", "Two", 2),
}
DONE: dict[str, str | None] = {
    "main.go": str(BASE["main.go"]).replace('"?"', '"!"'),
    "b/b.go": "package b\n\nfunc Two() int { return 2 }\n",
}
# Run by a test and by the program: tries each way to change what later commands of Go would read.
POISON = """package a

import (
	"os"
	"path/filepath"
)

func init() {
	home, _ := os.UserHomeDir()
	places := []string{os.Getenv("GOCACHE"), filepath.Join(home, ".cache", "go-build"), ".trued-go"}
	for _, place := range places {
		filepath.Walk(place, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return nil
			}
			os.Chmod(path, 0o666)
			os.WriteFile(path, []byte("poison"), 0o666)
			os.Rename(path, path+".old")
			os.Remove(path)
			os.Symlink("/dev/null", path)
			return nil
		})
		os.WriteFile(filepath.Join(place, "poison"), []byte("poison"), 0o666)
		os.MkdirAll(filepath.Join(place, "zz"), 0o777)
	}
}

func One() int { return 1 }
"""
HEADS: dict[str, tuple[dict[str, str | None], Grade]] = {
    "honest": (DONE, Grade.TESTED),
    "honest work that also tries to poison": (
        {**DONE, "a/a.go": POISON, "main.go": str(DONE["main.go"]).replace('"io"', '"io"\n\t_ "example.org/tally/a"')},
        Grade.TESTED,
    ),
    "poison instead of work": ({"a/a.go": POISON}, Grade.REFUTED),
    "nothing": ({"README.md": "done\n"}, Grade.REFUTED),
}


def content(folder: Path) -> dict[str, str]:
    files = [one for one in sorted(folder.rglob("*")) if not one.is_dir()]
    return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def tried(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [(one.id, str(one.outcome), one.detail[-300:]) for fact in verdict.evidence for one in fact.tried]


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "LAW-4")
async def test_the_library_is_compiled_once_shared_by_all_checks_and_changed_by_none(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: the shared library was not tried")
    trial = Trial(tmp_path / "trial", BASE, asked(EXAMPLES, TESTS))
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal(held_out=False)
    (library,) = (tmp_path / "kept" / FOLDER).glob("go-*/cache")
    before = content(library)
    assert len(before) > 500
    for name, (change, grade) in HEADS.items():
        verdict = await trial.prove(contract, await trial.head(change))
        (judged,) = verdict.requirements
        assert judged.grade is grade, (name, judged.why, tried(verdict))
        assert content(library) == before, name


@pytest.mark.slow
@pytest.mark.spec("DAY-2")
async def test_a_preparation_builds_with_go_and_leaves_the_shared_library_alone(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: a preparation with Go was not tried")
    built = {"kind": "examples", "cases": [{**one, "run": ["./tool"]} for one in RUNS]}
    trial = Trial(tmp_path / "trial", BASE, asked(built, TESTS), prepare=["go build -o tool ."])
    trial.workspace.kept = trial.workspace.environments = tmp_path / "kept"
    contract = await trial.seal(held_out=False)
    (library,) = (tmp_path / "kept" / FOLDER).glob("go-*/cache")
    before = content(library)
    verdict = await trial.prove(contract, await trial.head(DONE))
    assert verdict.requirements[0].grade is Grade.TESTED, (verdict.requirements[0].why, tried(verdict))
    assert content(library) == before
