"""Searches for the reason `reached_by_failing_tests`."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from trued.proof.reach.altered_python import MODULE, NameGraph, defined_names, new_statements
from trued.proof.reach.own_checks import starts_unknown_program, words_of_commands
from trued.proof.reach.tests_in_python import names_of_tests, without_idle_tests, without_tests
from trued.proof.reach.uncollected_tests import DOCUMENTS_WITH_EXAMPLES, examples_of
from trued.proof.room.frozen_files import is_test
from trued.proof.text.python_imports import imported_modules
from trued.proof.text.python_names import names_at_load, used_attributes, used_names
from trued.proof.unguarded.change.altered_pieces import REPLACES, altered_pieces
from trued.proof.unguarded.change.by_requirement import by_requirement
from trued.proof.unguarded.change.pieces import CodePiece, last_part, module_name, names_in_imports
from trued.proof.unguarded.change.tried_change import TriedChange
from trued.support.tables import table_at, toml_table

PYPROJECT = "pyproject.toml"


async def reached_by_failing_tests(tried: TriedChange) -> dict[str, list[str]]:
    """Catches a change that breaks old Python code whose only tests are idle: they pass neither before nor after the
    change, or no check collects them, so they cannot notice the mistake.

    Returns requirement → code of the base that the head altered, and that only idle tests reach.
    """
    names_in_idle, names_in_others = await _names_in_tests(tried)
    if not names_in_idle:
        return {}
    altered = await altered_pieces(tried.trial, tried.sides, await tried.files.code())
    if not altered:
        return {}
    texts = await tried.sides.texts_of_base(tests=True)
    guarding = _without_idle_tests(tried, texts)
    # `watched`: names that cases or tests that are not idle reach. `idle`: names that idle tests reach.
    graph = NameGraph(guarding.values())
    watched = graph.reached([*tried.calls.names, *names_in_others])
    idle = NameGraph((text for path, text in texts.items() if guarding[path] != text), graph).reached(names_in_idle)
    behind = idle - watched
    product = {path: defined_names(text) for path, text in texts.items() if not is_test(path)}
    modules = {module_name(path) for path, names in product.items() if not behind.isdisjoint(names)}
    code = [piece for piece in altered if _is_reached(piece.name, idle, beside=watched)]
    # A name that several modules define may be watched in one of them, and idle in another.
    several = Counter(name for names in product.values() for name in names)
    shared = [piece for piece in altered if several[piece.name] > 1 and piece.name in idle & watched]
    code += _only_namesakes_used(tried, shared, texts)
    # A new file may take the place of a module that only idle tests reach.
    code += [piece for piece in altered if piece.name == REPLACES and module_name(piece.path) in modules]
    # Statements that run when a module is loaded may alter names that only idle tests reach.
    rewritten = [piece.path for piece in altered if piece.name == MODULE]
    before, after = await tried.sides.read(rewritten)
    for path in rewritten:
        mentioned = new_statements(before.get(path, ""), after.get(path, ""))
        code += [CodePiece(path, name) for name in sorted(mentioned & (behind | modules | {MODULE}))]
    return await by_requirement(tried, list(dict.fromkeys(code)))


def _is_reached(name: str, reached: Collection[str], beside: Collection[str]) -> bool:
    """Whether `reached` has this name, and `beside` lacks it.

    If `beside` has the name of a method (`Class.name`), it may mean a method of another class. Then the class decides:
    `reached` must have the class, and `beside` must lack the class."""
    owner, _, last = name.rpartition(".")
    if last not in reached or (owner and last in beside and last_part(owner) not in reached):
        return False
    return last not in beside or (bool(owner) and last_part(owner) not in beside)


def _only_namesakes_used(
    tried: TriedChange, functions: Sequence[CodePiece], texts: Mapping[str, str]
) -> list[CodePiece]:
    """The functions that no case and no guarding test takes from the function's own module, and that the module itself
    does not use.

    A case or test that uses only the name may mean a function of another module.
    """
    if not functions:
        return []
    guarding = [without_tests(text, path, tried.tests.idle) for path, text in texts.items()]
    taken = {name for text in guarding for name in imported_modules(text) | used_attributes(text)}
    pairs = {tuple(name.split(".")[-2:]) for name in taken.union(tried.calls.dotted)}
    return [
        function
        for function in functions
        if pairs.isdisjoint({(module_name(function.path), function.name), (module_name(function.path), "*")})
        and function.name not in used_names(texts.get(function.path, ""))
    ]


async def _names_in_tests(tried: TriedChange) -> tuple[frozenset[str], frozenset[str]]:
    """The names that idle existing tests use, and the names that all other existing tests use. Both are empty if
    all idle tests are in languages other than Python, and are neither documents with examples nor command lines. An
    idle command line that starts an unknown program may use every name of the base."""
    idle, guarding = tried.tests.idle, tried.tests.guarding
    files = {name.split("::")[0] for name in idle}
    readable = any(path.endswith((".py", *DOCUMENTS_WITH_EXAMPLES)) for path in files)
    own_checks = await tried.sides.texts_of_tests([name for name in tried.contract.uncollected if name in idle])
    blobs, words = await tried.sides.blobs_of_base(), words_of_commands(own_checks)
    is_unknown = any(starts_unknown_program(name, text, blobs) for name, text in own_checks.items())
    if not readable and not words and not is_unknown:
        return frozenset(), frozenset()
    files |= {name.split("::")[0] for name in guarding}
    texts = {path: examples_of(path, text) for path, text in (await tried.sides.read_base(files)).items()}
    used_by_idle = names_of_tests(texts, idle, strings=True)
    used_by_idle |= await _names_started_by(tried, words) if words else frozenset()
    if is_unknown:
        product = await tried.sides.texts_of_base()
        used_by_idle |= {name for text in product.values() for name in defined_names(text)}
    return used_by_idle, names_of_tests(_without_idle_tests(tried, texts), guarding, strings=False)


async def _names_started_by(tried: TriedChange, words: frozenset[str]) -> frozenset[str]:
    """The names that command lines with these words use: the words themselves, what modules of the product use when
    they are started, and the functions behind the product's own commands."""
    names = set(words)
    for path, text in (await tried.sides.texts_of_base()).items():
        if not words.isdisjoint(names_in_imports(path)):
            names |= names_at_load(text)
    manifest = (await tried.sides.read_base([PYPROJECT])).get(PYPROJECT, "")
    scripts = table_at(toml_table(manifest), "project", "scripts")
    names |= {
        last_part(str(call).partition(":")[2])
        for command, call in scripts.items()
        if words.issuperset(re.findall(r"\w+", command))
    }
    return frozenset(names - {""})


def _without_idle_tests(tried: TriedChange, texts: Mapping[str, str]) -> dict[str, str]:
    """These texts without the functions that only idle tests run. A function of the product stays, even if an
    example in its docstring is an idle test."""
    idle = tried.tests.idle
    tests = [test for test in idle if is_test(test.split("::")[0]) or test.split("::")[-1].startswith("test")]
    whole = [test for test in idle if "::" not in test]
    programs = _programs_among(tried, whole, texts)
    kept = {path: "" if path in programs else text for path, text in texts.items()}
    return without_idle_tests(kept, [*tests, *whole], tried.tests.guarding)


def _programs_among(tried: TriedChange, idle: Collection[str], texts: Mapping[str, str]) -> set[str]:
    """The files among `idle` that no other file imports and no case calls. `idle`: test files in which all tests
    are idle."""
    paths = {path for path in idle if path.endswith(".py")}
    if not paths:
        return set()
    called = {last_part(name) for name in tried.calls.files}
    users = {
        path: {part for name in imported_modules(text) for part in name.split(".")} for path, text in texts.items()
    }
    return {
        path
        for path in paths
        if module_name(path) not in called
        and not any(module_name(path) in names for user, names in users.items() if user != path)
    }
