"""Guards that every run has: the base's own tests, and what the user's words ask of the base's own tools."""

import json
from collections.abc import Collection, Iterable, Mapping

from ..documents.patterns import recognised
from ..proof.checks.runners.commands import recognised as runner
from ..proof.room.bench import check_hash
from ..proof.room.frozen import holds_tests, named_like_a_test
from ..protocols import Workspace
from ..types import Check, CommandCheck, Contract, Requirement, Requirements, TestsCheck

SUITE = "base-tests"
NODE_TESTS = (".test.js", ".test.mjs", ".test.cjs")
MOST_READ = 40  # test files that are looked into before it is said that there is no suite


async def guarded(
    workspace: Workspace, asked: Requirements, tasks: Iterable[str], agents: Collection[str] = ()
) -> tuple[Requirements, list[str]]:
    """With the base's own suite as guards, and the checks that can refute and never prove, by hash. `agents`: checks
    that agents brought: tests that they name do not stand for the base's own."""
    tools = await _tools(workspace)
    requirements = [_recognised(one, tools) for one in asked.requirements]
    suite, there = tools.get("tests"), {one.id for one in requirements}
    tests = [check for one in asked.requirements for check in one.checks if isinstance(check, TestsCheck)]
    theirs = any(check == suite or check_hash(check) not in agents for check in tests)
    if suite and not theirs and not any(_is_suite(one, suite) for one in requirements):
        text, name, number = "the base's own tests stay green", SUITE, 2
        while name in there:  # whoever calls something else so does not stand in its place
            name, number = f"{SUITE}-{number}", number + 1
        requirements.append(Requirement(id=name, text=text, covers=tuple(tasks), keep=True, checks=(suite,)))
    names = {check_hash(check) for check in tools.values()}
    given = {check_hash(check) for one in asked.requirements for check in one.checks}
    found = [check_hash(check) for one in requirements for check in one.checks]
    ids = tuple(one.id for one in requirements if not one.parts)
    made = tuple(
        one.model_copy(
            update={"parts": tuple(name for name in ids if name in (*one.parts, SUITE) or name not in there)}
        )
        if one.parts
        else one
        for one in requirements
    )
    guards = [name for name in dict.fromkeys(found) if name in names and name not in given]
    return asked.model_copy(update={"requirements": made}), guards


def _is_suite(one: Requirement, suite: Check) -> bool:
    return one.id.startswith(SUITE) and one.keep and suite in one.checks


def of_base(contract: Contract, one: Requirement) -> bool:
    """Is it the engine's own guard: that the base's tests stay green, and nothing that anybody asked for?"""
    own = bool(one.checks) and all(check_hash(check) in contract.guards for check in one.checks)
    return own and one.keep and one.id.startswith(SUITE)


def _recognised(one: Requirement, tools: Mapping[str, Check]) -> Requirement:
    """A sentence that asks for the base's own tests, build, lint or types is checked by the base's own means."""
    if one.checks or one.parts:
        return one
    kind = "tests" if one.keep else recognised(one.text)
    return one.model_copy(update={"keep": True, "checks": (tools[kind],)}) if kind in tools else one


async def _tools(workspace: Workspace) -> dict[str, Check]:
    """What the base has to try itself with, by the kind of thing that it tries."""
    base = workspace.base
    blobs = await workspace.blobs(base)
    found: dict[str, Check] = {}
    scripts = _scripts(await workspace.read(base, "package.json") if "package.json" in blobs else None)
    if await _has_python_tests(workspace, blobs):
        found["tests"] = TestsCheck(command="python -m pytest -q")
    elif _is_node(scripts):
        found["tests"] = TestsCheck(command="npm test")
    elif any(path.endswith(NODE_TESTS) for path in blobs):
        found["tests"] = TestsCheck(command="node --test")
    makefile = next((name for name in ("GNUmakefile", "makefile", "Makefile") if name in blobs), "")
    text = (await workspace.read(base, makefile) or b"").decode("utf-8", "replace") if makefile else ""
    targets = {line.split(":")[0].strip() for line in text.splitlines() if ":" in line and line[:1].isalpha()}
    for kind, names in {"lint": ("lint",), "types": ("types", "typecheck", "mypy"), "build": ("build",)}.items():
        if target := next((name for name in names if name in targets), ""):
            found[kind] = CommandCheck(command=f"make {target}", files=(makefile,))
        elif script := next((name for name in names if name in scripts), ""):
            found[kind] = CommandCheck(command=f"npm run --silent {script}")
    return found


async def _has_python_tests(workspace: Workspace, blobs: Mapping[str, str]) -> bool:
    named = sorted(path for path in blobs if path.endswith(".py") and named_like_a_test(path))
    for path in named[:MOST_READ]:
        if holds_tests(path, await workspace.read(workspace.base, path) or b""):
            return True
    return False


def _is_node(scripts: Mapping[str, str]) -> bool:
    """Does `npm test` come to Node's own runner, with nothing to do first?"""
    asked = runner("npm test", scripts)
    return asked is not None and asked.runner == "node" and not asked.before


def _scripts(manifest: bytes | None) -> dict[str, str]:
    try:
        read = json.loads(manifest or b"{}")
    except ValueError:
        return {}
    scripts = read.get("scripts", {}) if isinstance(read, dict) else {}
    return {name: line for name, line in scripts.items() if isinstance(line, str)} if isinstance(scripts, dict) else {}
