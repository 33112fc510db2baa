"""Makes failing copies of test files, by adding an error at the beginning of each test that can be changed. If such a
test is not reported as failed, no result of the run can be trusted. Does no I/O."""

import re
from collections import Counter
from dataclasses import dataclass

from trued.support.lazy_regex import lazy_regex

WHY = "a copy that must fail"
# The error has a condition, so that no linter reports the rest of the test as unreachable. Nothing that a test replaces
# (a clock, a module) can change the condition.
FAILS = f'if ("{WHY}".length) throw new Error("{WHY}");'
# The same error, to be put before the expression in `() => expression`. To a type checker, a call that only throws fits
# any type.
FAILS_FIRST = f'"{WHY}".length ? (() => {{ throw new Error("{WHY}"); }})() :'
_TITLE = r"""(?P<quote>['"`])(?P<title>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)"""
_OPTIONS = r"(?:\{[^{}]*\}\s*,\s*)?"
_BODY = r"(?:async\s+)?(?:function\s*\w*\s*\([^()]*\)\s*\{|(?:\([^()]*\)|\w+)(?:\s*:\s*[\w<>]+)?\s*=>\s*\{?)"
_JAVASCRIPT = lazy_regex(rf"\b(?:test|it|specify)(?:\.only)?\s*\(\s*{_TITLE}\s*,\s*{_OPTIONS}{_BODY}")
_TITLED = lazy_regex(rf"\b(?:test|it|specify)(?:\.\w+)*\s*\(\s*{_TITLE}")
_GO = lazy_regex(r"^func\s+(?P<title>Test\w*)\s*\(\s*(?P<name>\w+)\s+\*testing\.T\s*\)\s*\{", re.MULTILINE)
_IMPORTS = lazy_regex(r"^\s*(import|export)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FailingFile:
    """The text of a test file in which the tests with these titles must fail."""

    content: str
    titles: tuple[str, ...]


def unittest_failures(number: float) -> dict[str, list[object]]:
    """Assertion method of unittest → arguments that make it fail. They contain `number`, which is between 0 and 1."""
    return {
        "assertEqual": [number, 2],
        "assertNotEqual": [number, number],
        "assertTrue": [0],
        "assertFalse": [1],
        "assertIs": [number, None],
        "assertIsNone": [number],
        "assertIsNotNone": [None],
        "assertIn": [2, [number]],
        "assertNotIn": [number, [number]],
        "assertAlmostEqual": [number, 2],
        "assertGreater": [number, 2],
        "assertLess": [2, number],
        "assertListEqual": [[number], [2]],
        "assertDictEqual": [{"x": number}, {"x": 2}],
        "assertCountEqual": [[number], [2]],
        "assertRegex": [str(number), "none"],
        "fail": [str(number)],
    }


def failing_javascript(content: str) -> FailingFile:
    """The failing copy of a JavaScript file whose tests are written as `test("title", () => { … })` or
    `test("title", () => …)`."""
    titles: list[str] = []

    def with_error(match: re.Match[str]) -> str:
        title = match.group("title")
        if "\\" in title or "${" in title:
            return match.group()
        titles.append(title)
        return f"{match.group()} {FAILS if match.group().endswith('{') else FAILS_FIRST} "

    changed = _JAVASCRIPT.sub(with_error, content)
    # If one of two tests with the same title could not be changed, results under that title show nothing.
    all_titles, changed_titles = Counter(match.group("title") for match in _TITLED.finditer(content)), Counter(titles)
    return FailingFile(changed, tuple(title for title in titles if changed_titles[title] == all_titles[title]))


def failing_go(content: str) -> FailingFile:
    """The failing copy of a Go test file."""
    titles: list[str] = []

    def with_error(match: re.Match[str]) -> str:
        titles.append(match.group("title"))
        name, opening = match.group("name"), match.group()
        if name == "_":  # name the parameter, to call `Fatal`; a panic would end all other tests of the package
            name = "failing"
            opening = (
                opening[: match.start("name") - match.start()] + name + opening[match.end("name") - match.start() :]
            )
        return f'{opening} if true {{ {name}.Fatal("{WHY}") }};'

    return FailingFile(_GO.sub(with_error, content), tuple(titles))


def is_es_module(path: str, content: str, kind: str) -> bool:
    """Whether this JavaScript is an ES module. `kind`: the `type` of its package."""
    if path.endswith((".mjs", ".mts")):
        return True
    if path.endswith((".cjs", ".cts")):
        return False
    return kind == "module" or bool(_IMPORTS.search(content))


def is_set_aside(content: str, title: str) -> bool:
    """Whether the file itself marks this test to be skipped."""
    name = re.escape(title)
    by_name = rf"\.(?:skip|todo)\s*\(\s*(['\"`]){name}\1"
    by_option = rf"(['\"`]){name}\1\s*,\s*\{{[^{{}}]*\b(?:skip|todo)\b"
    return bool(re.search(by_name, content) or re.search(by_option, content))
