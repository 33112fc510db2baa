"""Requirements files: bytes and structures, in all three languages."""

import json
import tomllib
from typing import Any

from ruamel.yaml import YAML

from tests.fuzz.mutation import Mutator
from trued.errors import BadInput
from trued.inputs.requirements.file import parse_requirements
from trued.model import Contract, ExamplesCheck, Requirements
from trued.proof.checks.examples import case_flaw
from trued.proof.hashes import canonical_contract, contract_hash

SEED: dict[str, Any] = {
    "environment": {"path": [".", "src"], "variables": {"A": "b"}, "prepare": ["make x"], "packages": ["six"]},
    "requirements": [
        {
            "id": "slug",
            "text": "slugify lower-cases",
            "covers": ["1A"],
            "supersedes": ["tests/test_old.py::test_plus"],
            "checks": [
                {"kind": "tests", "command": "python -m pytest -q", "files": ["tests/test_slug.py"]},
                {
                    "kind": "examples",
                    "cases": [
                        {"call": "kit.slug:slugify", "args": ["A b"], "returns": "a-b"},
                        {"call": "kit.slug:slugify", "args": [7], "raises": "TypeError", "within_s": 2},
                        {
                            "run": ["python", "-m", "kit", "{files}/a"],
                            "files": {"a": "b"},
                            "stdin": "",
                            "stdout": "x\n",
                            "exit": 0,
                        },
                        {"http": {"method": "GET", "path": "/slug?q=1"}, "status": 200, "json": {"slug": "a-b"}},
                    ],
                },
                {"kind": "command", "command": "make lint", "files": ["Makefile"]},
                {"kind": "browser", "page": "/", "sees": ["Buy"], "hides": ["Sold"]},
                {"kind": "manual", "steps": ["look"]},
            ],
        },
        {"id": "rest", "text": "the rest stays", "keep": True},
    ],
    "serve": {"command": ["python", "-m", "shop"], "port_env": "PORT", "ready": {"path": "/", "status": 200}},
}
TOML = b"""[environment]
path = ["src"]
[[requirements]]
id = "slug"
text = '''two
lines'''
[[requirements.checks]]
kind = "examples"
cases = [{call = "kit:slug", args = ["A b", 1, 2.5], returns = {a = [true]}}]
[[requirements.checks]]
kind = "command"
command = "make lint"
"""
YAML_SEED = b"""requirements:
  - id: slug
    text: >-
      slugify
      lower-cases
    checks:
      - kind: examples
        cases:
          - {call: "kit:slug", args: ["A b"], returns: "a-b"}
          - {run: [x], stdout_json: [1, 2.5, null, yes, 0x1F]}
  - {id: rest, text: "the \\"rest\\" stays", keep: true}
"""
SEEDS = {".json": [json.dumps(SEED, indent=1).encode()], ".toml": [TOML], ".yaml": [YAML_SEED]}


def feed(chance: Mutator) -> bytes:
    """One file; what comes of it is a sentence, or requirements that say what the file says."""
    suffix = chance.random.choice(list(SEEDS))
    if suffix == ".json" and chance.random.random() < 0.7:
        data = json.dumps(chance.value([SEED])).encode()
    else:
        data = chance.text(SEEDS[suffix])
    text = data.decode("utf-8", "replace")
    try:
        found = parse_requirements(text, f"asked{suffix}")
    except BadInput as error:
        _one_sentence(error)
        return b"refused"
    _faithful(found, _read(text.removeprefix("\ufeff"), suffix))
    _sealable(found)
    return b"taken"


def _one_sentence(error: BadInput) -> None:
    assert "\n" not in str(error), "more than one line"
    assert error.then or error.where, "neither where nor what to do"


def _read(text: str, suffix: str) -> Any:
    """The same file by the language's own reader."""
    if suffix == ".json":
        return json.loads(text)
    return tomllib.loads(text) if suffix == ".toml" else YAML(typ="safe", pure=True).load(text)


def _faithful(found: Requirements, said: Any) -> None:
    """Nothing is lost, added or changed on the way."""
    listed = said["requirements"]
    assert [one.id for one in found.requirements] == [one["id"] for one in listed]
    assert [one.text for one in found.requirements] == [one["text"] for one in listed]
    assert [one.keep for one in found.requirements] == [one.get("keep", False) for one in listed]
    assert [[check.kind for check in one.checks] for one in found.requirements] == [
        [check["kind"] for check in one.get("checks", ())] for one in listed
    ]
    for one, other in zip(found.requirements, listed, strict=True):
        for check, told in zip(one.checks, other.get("checks", ()), strict=True):
            if isinstance(check, ExamplesCheck) and _named(told):
                found_cases = [case.model_dump(mode="json") for case in check.cases]
                assert found_cases == [_plain(case) for case in told["cases"]]


def _named(value: Any) -> bool:
    """Every key is text. A number as a key of YAML is read here as it is written: 0x1 stays 0x1."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _named(part) for key, part in value.items())
    return all(map(_named, value)) if isinstance(value, list) else True


def _plain(case: dict[str, Any]) -> Any:
    """Times are no whole numbers, whatever the file writes."""
    timed = {"within_s": float(case["within_s"])} if "within_s" in case else {}
    return json.loads(json.dumps({**case, **timed}))


def _sealable(found: Requirements) -> None:
    """A contract is made of it, the same bytes each time; its cases can be told well-formed or not."""
    contract = Contract(
        base="0" * 40, requirements=found.requirements, environment=found.environment, serve=found.serve
    )
    again = Contract.model_validate_json(canonical_contract(contract))
    assert contract_hash(again) == contract_hash(contract)
    for one in found.requirements:
        for check in one.checks:
            if isinstance(check, ExamplesCheck):
                for case in check.cases:
                    case_flaw(case)
