"""Requirements files in TOML, YAML and JSON have one structure, and every mistake is reported with its line."""

import base64
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from trued.errors import BadInput
from trued.inputs.requirements.file import load_requirements, parse_requirements
from trued.inputs.requirements.file_format import schema
from trued.model import (
    BrowserCheck,
    CallCase,
    CommandCheck,
    ExamplesCheck,
    HttpCase,
    HttpRequest,
    ManualCheck,
    Ready,
    Requirements,
    RunCase,
    Serve,
    TestsCheck,
)

YAML = """\
# what must hold
environment: {path: [".", "src"], variables: {LANG: C}}
requirements:
  - id: slug
    supersedes: ["tests/test_old.py::test_plus_sign"]
    covers: ["1A", "ship: `slugify` is documented"]
    text: slugify(text) lower-cases, joins runs of other characters with one "-", and strips them at both ends
    checks:
      - kind: tests
        command: python -m pytest -q
        files: [tests/test_slug.py]
      - kind: examples
        cases:
          - {call: "textkit.slug:slugify", args: ["Foo & Bar 42"], returns: "foo-bar-42"}
          - {call: "textkit.slug:slugify", args: [7], raises: TypeError, within_s: 2}
          - {call: "textkit.slug:nothing", returns: null}
          - {run: ["python", "-m", "textkit", "{files}/a.txt"], files: {a.txt: x}, stdin: "", stdout: "a-b\\n", exit: 0}
          - {run: [x], stdout_json: [1, 2.5, null, yes, 2026-01-05, 0x1F]}
      - {kind: command, command: "make lint", files: [Makefile]}
      - {kind: manual, steps: ["Open the page", "The chart looks right"]}
  - id: keep-it
    text: the rest stays as it is
    keep: true
"""

TOML = """\
[environment]
path = [".", "src"]

[[requirements]]
id = "slug"
text = '''
two lines
'''

[[requirements.checks]]
kind = "examples"
cases = [
  { call = "a.b:c", args = [1], returns = 2 },
  # a remark
  { call = "a.b:c", args = ["[x]"], raises = "ValueError" },
]

[[requirements]]
id = "other"
text = "y"
keep = true
"""


def read(text: str, suffix: str = "yaml") -> Requirements:
    return parse_requirements(text, f"req.{suffix}")


@pytest.mark.spec("LAW-12")
def test_a_yaml_file_is_read_whole_with_the_line_of_each_requirement() -> None:
    found = read(YAML)
    slug, keep = found.requirements
    assert found.environment.path == (".", "src")
    assert (slug.source.line, keep.source.line) == (4, 21)
    assert str(slug.source) == "req.yaml:4"
    assert slug.text in YAML
    assert slug.covers == ("1A", "ship: `slugify` is documented")
    assert keep.keep
    tests, examples, command, manual = slug.checks
    assert tests == TestsCheck(command="python -m pytest -q", files=("tests/test_slug.py",))
    assert isinstance(examples, ExamplesCheck)
    assert isinstance(command, CommandCheck)
    assert isinstance(manual, ManualCheck)
    assert examples.cases[0] == CallCase(call="textkit.slug:slugify", args=("Foo & Bar 42",), returns="foo-bar-42")
    last = examples.cases[-1]
    assert isinstance(last, RunCase)
    assert last.stdout_json == [1, 2.5, None, "yes", "2026-01-05", 31]


@pytest.mark.spec("LAW-12")
def test_an_expected_null_is_not_an_absent_expectation_even_after_storing() -> None:
    found = Requirements.model_validate_json(read(YAML).model_dump_json())
    check = found.requirements[0].checks[1]
    assert isinstance(check, ExamplesCheck)
    assert "returns" in check.cases[2].model_fields_set
    assert "returns" not in check.cases[1].model_fields_set
    assert "stdout_json" not in check.cases[3].model_fields_set


@pytest.mark.spec("LAW-12")
def test_toml_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    toml = read(TOML, "toml")
    assert [one.source.line for one in toml.requirements] == [4, 18]
    assert toml.requirements[0].text == "two lines\n"
    plain = toml.model_dump(mode="json", exclude={"file", "carried", "serve", "interface", "suites", "unguarded"})
    for one in plain["requirements"]:
        del one["source"], one["parts"]
        if not one["checks"]:
            del one["checks"]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(plain, indent=1))
    again = load_requirements(path)
    assert [one.source.line for one in again.requirements] == [
        number
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line == "  {" and '"id"' in path.read_text().splitlines()[number]
    ]
    assert [one.checks for one in again.requirements] == [one.checks for one in toml.requirements]


SERVED = """\
serve: {command: [node, server.js], port_env: PORT, ready: {path: /health, status: 200, within_s: 5}}
interface: ["GET /slug?q=TEXT", "src/slug.js:slugify(text)"]
requirements:
  - id: slug
    text: it slugs
    checks:
      - kind: examples
        cases:
          - {call: "src/slug.js:slugify", args: ["A b"], returns: "a-b", quotes: "it slugs"}
          - http: {method: POST, path: "/slug?q=A+b", headers: {X-A: b}, body: "{}"}
            json: null
            headers: {X-B: c}
      - {kind: browser, page: "/", sees: ["a-b"], hides: [x], url: "/", tree: ['button "Go"'], quiet: true}
      - {kind: tests, command: node --test, network: loopback}
"""


@pytest.mark.spec("LAW-12")
def test_servers_exchanges_pages_and_node_modules_are_read() -> None:
    found = read(SERVED)
    assert found.serve == Serve(
        command=("node", "server.js"), ready=Ready(path="/health", status=200, within_s=5), port_env="PORT"
    )
    assert found.interface == ("GET /slug?q=TEXT", "src/slug.js:slugify(text)")
    stored = Requirements.model_validate_json(found.model_dump_json())
    assert stored == found
    examples, page, tests = stored.requirements[0].checks
    assert isinstance(examples, ExamplesCheck)
    call, exchange = examples.cases
    assert isinstance(call, CallCase)
    assert call.quotes == "it slugs"
    assert isinstance(exchange, HttpCase)
    assert exchange.http == HttpRequest(method="POST", path="/slug?q=A+b", headers={"X-A": "b"}, body="{}")
    assert "json_" in exchange.model_fields_set  # an expected null is an expectation
    assert "body" not in exchange.model_fields_set
    assert isinstance(page, BrowserCheck)
    assert (page.sees, page.hides, page.url, page.quiet) == (("a-b",), ("x",), "/", True)
    assert isinstance(tests, TestsCheck)
    assert tests.network == "loopback"


@pytest.mark.spec("LAW-3", "LAW-4")
def test_tests_that_come_with_the_contract_are_read_from_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "req.yaml"
    file.write_text(ONE + "      - {kind: tests, from: given/, files: [tests]}\n")
    with pytest.raises(BadInput, match="there is no folder"):
        load_requirements(file)
    (tmp_path / "given" / "tests").mkdir(parents=True)
    with pytest.raises(BadInput, match="contains none of the files"):
        load_requirements(file)
    (tmp_path / "given" / "tests" / "test_a.py").write_bytes(b"assert 1\n")
    (tmp_path / "given" / "other.py").write_text("")
    (tmp_path / "secret").write_text("key")
    (tmp_path / "given" / "tests" / "link").symlink_to(tmp_path / "secret")
    assert load_requirements(file).carried == {"tests/test_a.py": base64.b64encode(b"assert 1\n").decode()}


@pytest.mark.spec("LAW-5")
def test_two_folders_cannot_bring_different_files_to_one_place(tmp_path: Path) -> None:
    """Otherwise one of them would silently not be checked."""
    for name, text in (("one", "assert 1\n"), ("two", "assert 2\n"), ("same", "assert 1\n")):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "tests" / "test_a.py").write_text(text)
    text = "requirements:\n"
    for number, name in enumerate(("one", "same", "two")):
        check = f"{{kind: tests, command: pytest, from: {name}, files: [tests/test_a.py]}}"
        text += f"  - {{id: r{number}, text: it works, checks: [{check}]}}\n"
    file = tmp_path / "wanted.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match="with different contents"):
        load_requirements(file)
    file.write_text(text[: text.index("  - {id: r2")])
    assert [*load_requirements(file).carried] == ["tests/test_a.py"]


ONE = "requirements:\n  - id: a\n    text: b\n    checks:\n"
CASES = ONE + "      - kind: examples\n        cases:\n"


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "should be a mapping, not empty"),
        ("- a\n", 1, "should be a mapping, not a list"),
        ("environment: {}\n", 1, "has no requirements"),
        ("requirements: []\n", 1, "empty"),
        ("requirements: x\n", 1, "should be a list, not text"),
        ("requirements:\n  - x\n", 2, "should be a mapping, not text"),
        ("requirement: []\n", 1, "unknown key requirement (did you mean requirements?)"),
        ("environment:\n  pathh: []\nrequirements: []\n", 3, "empty"),
        ("environment:\n  path: []\n  pathh: []\nrequirements: [{id: a, text: b}]\n", 3, "did you mean path?"),
        ("environment:\n  path: src\nrequirements: [{id: a, text: b}]\n", 2, "environment.path should be a list"),
        ("environment:\n  path: [src, ../..]\nrequirements: [{id: a, text: b}]\n", 2, "'../..' is not a path inside"),
        ("environment:\n  path: [/usr/lib]\nrequirements: [{id: a, text: b}]\n", 2, "'/usr/lib' is not a path inside"),
        ("serve: {}\nrequirements: [{id: a, text: b}]\n", 1, "the server has no command"),
        ("serve:\n  command: []\nrequirements: [{id: a, text: b}]\n", 2, "names no program"),
        ("serve:\n  command: [x]\n  port_env: A=B\nrequirements: [{id: a, text: b}]\n", 3, "name of a variable"),
        ("serve:\n  command: [x]\n  port: 80\nrequirements: [{id: a, text: b}]\n", 3, "did you mean port_env?"),
        ("interface: [1]\nrequirements: [{id: a, text: b}]\n", 1, "interface.0"),
        ("requirements:\n  - text: b\n", 2, "no id"),
        ("requirements:\n  - id: a\n", 2, "has no text"),
        ("requirements:\n  - id: a\n    text: ' '\n", 3, "text: it is empty"),
        ("requirements:\n  - id: 7\n    text: b\n", 2, "put it in quotation marks"),
        ("requirements:\n  - id: a b\n    text: b\n", 2, "is not an id"),
        ("requirements:\n  - id: a\n    text: b\n  - id: a\n    text: c\n", 4, "the first is on line 2"),
        ("requirements:\n  - id: a\n    text: b\n    cover: [x]\n", 4, "did you mean covers?"),
        ("requirements:\n  - id: a\n    text: b\n    source: x\n", 4, "unknown key source"),
        ("requirements:\n  - id: a\n    text: b\n    keep: 'yes'\n", 4, "keep"),
        ("requirements:\n  - id: a\n    text: b\n    covers:\n      - 1\n", 5, "covers.0"),
        ("requirements:\n  - id: a\n    text: b\n    checks: []\n", 4, "the list is empty"),
        (ONE + "      - {}\n", 5, "no kind"),
        (ONE + "      - kind: test\n", 5, "did you mean tests?"),
        (ONE + "      - kind: browser\n        page: /\n", 5, "expects nothing of the page"),
        (ONE + "      - kind: browser\n        page: x\n        sees: [y]\n", 6, "not a path on the server"),
        (ONE + "      - kind: tests\n        form: x/\n", 6, "did you mean from?"),
        (ONE + "      - kind: tests\n        network: host\n", 6, "network"),
        (ONE + "      - kind: tests\n        file: [x]\n", 6, "did you mean files?"),
        (ONE + "      - kind: tests\n        files: [../x]\n", 6, "not a path inside"),
        (ONE + "      - {kind: tests, command: 'pytest -q | tee log'}\n", 5, "uses `|`, which needs a shell"),
        (ONE + "      - {kind: tests, command: 'pytest -q; true'}\n", 5, "uses `;`, which needs a shell"),
        (ONE + "      - {kind: tests, command: tox}\n", 5, "`tox` starts no test runner whose results can be counted"),
        (ONE + "      - {kind: tests, command: 'cd a && make test'}\n", 5, "starts no test runner"),
        (ONE + "      - {kind: tests, command: python manage.py test}\n", 5, "starts no test runner"),
        (ONE + "      - {kind: tests, command: cd ../a && pytest}\n", 5, "starts no test runner"),
        (ONE + "      - kind: command\n", 5, "has no command"),
        (ONE + "      - kind: command\n        command: [make]\n", 6, "command: it should be a valid string"),
        (ONE + "      - kind: command\n        command: x\n        within_s: 0\n", 7, "greater than 0"),
        (ONE + "      - kind: manual\n        steps: []\n", 6, "steps"),
        (CASES + "          - {args: [1]}\n", 7, "exactly one of call"),
        (CASES + "          - {call: 'a:b', run: [x], returns: 1}\n", 7, "exactly one of call"),
        (CASES + "          - {http: {}}\n", 7, "the request has no path"),
        (CASES + "          - {http: {path: x}, status: 200}\n", 7, "not a path on the server"),
        (CASES + "          - {http: {path: /}}\n", 7, "expects nothing"),
        (CASES + "          - {http: {path: /, headers: {'a b': c}}, status: 200}\n", 7, "not the name of a header"),
        (CASES + "          - {http: {path: /}, statu: 200}\n", 7, "did you mean status?"),
        (CASES + "          - {call: '../x.js:f', returns: 1}\n", 7, "not a path inside the project"),
        (CASES + "          - {call: 'a:b', returns: 1}\n          - {call: 'a:b'}\n", 8, "neither returns nor raises"),
        (CASES + "          - {call: 'a:b', returns: null, raises: X}\n", 7, "both returns and raises"),
        (CASES + "          - {call: 'a b', returns: 1}\n", 7, "cannot be called"),
        (CASES + "          - {call: 'a:b', returns: [{$object: a.P, x: 3}]}\n", 7, "'x' is beside it"),
        (CASES + "          - {call: 'tiny.py:double', returns: 1}\n", 7, "names a file, not a module"),
        (CASES + "          - {call: 'src/a/tiny.py:double', returns: 1}\n", 7, "names a file, not a module"),
        (CASES + "          - {call: 'a:b', arg: [1], returns: 1}\n", 7, "did you mean args?"),
        (CASES + "          - call: 'a:b'\n            returns: 1\n            args: x\n", 9, "args"),
        (CASES + "          - run: x\n", 7, "run"),
        (CASES + "          - run: []\n", 7, "names no program"),
        (CASES + "          - run: [x]\n            exit: '0'\n", 8, "exit"),
        (CASES + "          - call: 'a:b'\n            returns: .nan\n", 8, "nan cannot be stored as JSON"),
        ("requirements:\n  - id: a\n    id: b\n", 3, "twice"),
        ("requirements: [\n", 2, "not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("requirements: !!python/object:os.system x\n", 1, "tag"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n", 3, "merge keys"),
        ("a: &a [*a]\n", 1, "too large"),
        ("? [a]\n: b\n", 1, "list or a mapping"),
    ],
)
def test_every_mistake_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text)
    assert caught.value.where == f"req.yaml:{line}", caught.value
    assert what in str(caught.value)
    assert caught.value.then


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    ("text", "suffix", "line", "what"),
    [
        ('{"requirements": [\n {"id": "a", "text": "b",\n  "id": "c"}]}', "json", 3, "twice"),
        ('{"requirements": [\n {"id": "a",\n  "text": 5}]}', "json", 3, "text: it should be a valid string"),
        ('{"a": [1,\n2,,]}', "json", 2, "not JSON"),
        ('{"requirements": NaN}', "json", 1, "nan"),
        ("[" * 5000, "json", 1, "not JSON"),
        ('{"requirements": [{"id": "a", "text": "\\ud800"}]}', "json", 1, "half a character"),
        (
            "[[requirements]]\nid = 'a'\ntext = 'b'\n[[requirements]]\nid = 'c'\ntexts = 'd'\n",
            "toml",
            6,
            "did you mean text?",
        ),
        (
            "[[requirements]]\nid = 'a'\ntext = 'b'\n\n[[requirements.checks]]\nkind = 'nope'\n",
            "toml",
            6,
            "unknown kind 'nope'",
        ),
        ("[[requirements]]\nid = 1979-05-27\n", "toml", 2, "date"),
        ("a = \n", "toml", 1, "not TOML"),
        ("a = 1\na = 2\n", "toml", 2, "not TOML"),
    ],
)
def test_mistakes_in_json_and_toml_have_lines_too(text: str, suffix: str, line: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text, suffix)
    assert caught.value.where == f"req.{suffix}:{line}", caught.value
    assert what in str(caught.value).lower() or what in str(caught.value)


@pytest.mark.spec("USE-7")
@pytest.mark.parametrize(
    "check",
    [
        "{kind: tests, command: 'make build && pytest -q'}",
        "{kind: tests, command: \"pytest -k 'a | b'\"}",
        "{kind: tests, command: 'sh run.sh | tee log', report: out.xml}",
        "{kind: command, command: 'pytest -q | tee log'}",
        "{kind: tests, command: 'cd backend && pytest -q'}",
        "{kind: tests, command: 'npm --prefix web run check'}",
        "{kind: tests, command: 'make test', report: out.xml}",
        "{kind: command, command: 'make test'}",
    ],
)
def test_shell_syntax_is_refused_only_where_no_shell_runs_it(check: str) -> None:
    assert read(ONE + f"      - {check}\n").requirements


@pytest.mark.spec("USE-6", "USE-7")
def test_a_billion_laughs_end_at_once() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    with pytest.raises(BadInput, match="too large"):
        read(bomb)


@pytest.mark.spec("USE-7")
def test_another_kind_of_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "r.ini"
    path.write_text("")
    with pytest.raises(BadInput, match=r"must end in \.toml"):
        load_requirements(path)
    with pytest.raises(BadInput, match="there is no file"):
        load_requirements(tmp_path / "none.yaml")


@pytest.mark.spec("LAW-12")
def test_the_published_schema_accepts_what_the_reader_accepts() -> None:
    bad: object
    validator = Draft202012Validator(schema())
    Draft202012Validator.check_schema(schema())
    from ruamel.yaml import YAML as Reader

    for text in (YAML, SERVED):
        good = json.loads(json.dumps(Reader(typ="safe", pure=True).load(text), default=str))
        assert list(validator.iter_errors(good)) == []
    for bad in (
        {},
        {"requirements": []},
        {"requirements": [{"id": "a"}]},
        {"requirements": [{"id": "a", "text": "b", "x": 1}]},
    ):
        assert list(validator.iter_errors(bad))
    case = {"requirements": [{"id": "a", "text": "b", "checks": [{"kind": "examples", "cases": [{"call": "a:b"}]}]}]}
    assert list(validator.iter_errors(case))


@pytest.mark.spec("LAW-12")
def test_the_schema_in_the_guide_is_the_readers_own() -> None:
    published = Path(__file__).parents[3] / "docs" / "guide" / "requirements.schema.json"
    assert json.loads(published.read_text()) == schema(), "write json.dumps(schema(), indent=1) to it"


@pytest.mark.parametrize(
    ("environment", "check", "sentence", "line"),
    [
        ('"A=B": "x"', '{"kind": "command", "command": "true"}', "cannot be the name of a variable", 2),
        ('"": "x"', '{"kind": "command", "command": "true"}', "cannot be the name of a variable", 2),
        ('"N\\u0000": "x"', '{"kind": "command", "command": "true"}', "cannot be the name of a variable", 2),
        ('"N": "x\\u0000"', '{"kind": "command", "command": "true"}', "NUL", 2),
        ("", '{"kind": "command", "command": "true\\u0000"}', "NUL", 4),
        ("", '{"kind": "examples", "cases": [{"run": ["a\\u0000b"], "exit": 0}]}', "NUL", 4),
    ],
)
def test_what_no_process_can_be_given_is_refused_with_its_line(
    environment: str, check: str, sentence: str, line: int
) -> None:
    text = (
        f'{{"environment": {{"variables":\n{{{environment}}}}},\n'
        f'"requirements": [{{"id": "a", "text": "t", "checks": [\n{check}]}}]}}'
    )
    with pytest.raises(BadInput, match=sentence) as caught:
        parse_requirements(text, "r.json")
    assert caught.value.where == f"r.json:{line}"


@pytest.mark.spec("USE-7")
def test_a_file_may_hold_ten_megabytes_of_data_and_no_endless_depth(tmp_path: Path) -> None:
    def file(value: str) -> Path:
        case = f'{{"call": "m:f", "args": [{value}], "returns": 1}}'
        check = f'{{"kind": "examples", "cases": [{case}]}}'
        (tmp_path / "r.json").write_text(f'{{"requirements": [{{"id": "a", "text": "b", "checks": [{check}]}}]}}')
        return tmp_path / "r.json"

    numbers, text = list(range(250_000)), "x" * 10_000_000
    (check,) = load_requirements(file(f'{json.dumps(numbers)}, "{text}"')).requirements[0].checks
    assert isinstance(check, ExamplesCheck)
    (case,) = check.cases
    assert isinstance(case, CallCase)
    assert case.args == (numbers, text)
    for depth in (90, 10_000):
        with pytest.raises(BadInput, match=r"nested too deeply|recursion"):
            load_requirements(file("[" * depth + "]" * depth))


@pytest.mark.spec("USE-7", "DAY-11")
def test_files_that_the_command_line_does_not_name_are_a_mistake_in_a_case() -> None:
    def text(word: str) -> str:
        case = f'{{run: ["python", "-m", "notes", "{word}"], files: {{a.txt: x}}, stdout: "1"}}'
        return f"requirements:\n  - id: a\n    text: b\n    checks:\n      - {{kind: examples, cases: [{case}]}}\n"

    assert read(text("{files}/a.txt")).requirements
    with pytest.raises(BadInput, match="does not name its files") as found:
        read(text("a.txt"))
    assert "{files}/a.txt" in found.value.then
