"""Vacuous cases: a program that does nothing useful would pass them."""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trued.model import BrowserCheck, CallCase, HttpCase, RunCase
from trued.proof.cases.entry_points import KnownNames, why_not_a_server, why_outside_project
from trued.proof.cases.mutants import CONSTANT, ECHO, STUB, Shown
from trued.proof.cases.vacuous_cases import (
    declares,
    entry_point,
    passing_mutants,
    unnamed_entry,
    why_strange,
    why_weak,
)

TEXT = "slug(text) makes a slug; anything else is a TypeError"
WORDS = KnownNames(
    f"{TEXT} served at /slug, by python -m kit slug", {"kit/core.py": "class OddInput(Exception):\n    pass\n"}
)
INTERFACE = (
    "kit.core:slug(text)",
    "python -m kit slug <text>",
    "GET /slug?q=<text>",
    "page /",
    "tool <x>",
    "{files}/x",
)


def call(args: Any, returns: Any, **more: Any) -> CallCase:
    return CallCase(call="kit.core:slug", args=args, returns=returns, quotes="makes a slug", **more)


def raising(name: str) -> CallCase:
    return CallCase(call="kit.core:slug", args=(1,), raises=name, quotes="a TypeError")


def run(*line: str, **more: Any) -> RunCase:
    return RunCase(run=line, quotes="makes a slug", **({"stdout": "a-b\n"} | more))


def http(**more: Any) -> HttpCase:
    return HttpCase.model_validate({"http": {"path": "/slug?q=A"}, "quotes": "makes a slug", **more})


def page(**more: Any) -> BrowserCheck:
    return BrowserCheck(page="/", quotes="makes a slug", **more)


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (call(("A b",), "a-b"), ""),
        (call(("A b",), "a-b").model_copy(update={"quotes": ""}), "quotes no words"),
        (call(("A b",), "a-b").model_copy(update={"quotes": "makes many slugs"}), "quotes no words"),
        (call(("A b",), "a-b").model_copy(update={"call": "kit.core:other"}), "not an entry point of the interface"),
        (call(("A b",), "a-b").model_copy(update={"call": "os.path:join"}), "is part of Python"),
        (raising("TypeError"), ""),
        (raising("kit.core.OddInput"), ""),
        (raising("kit.core:OddInput"), ""),
        (raising("Exception"), "a stub passes it"),
        (raising("builtins.BaseException"), "a stub passes it"),
        (raising("builtins:Exception"), "a stub passes it"),
        (raising("NotImplementedError"), "a stub passes it"),
        (raising("KeyError"), "neither by the user's words nor by the base"),
        (run("python", "-m", "kit", "slug", "A b"), ""),
        (run("python", "-Im", "kit", "slug", "A b"), "not an entry point"),
        (run("python", "-c", "print('a-b')"), "itself contains code"),
        (run("python", "-Ic", "print('a-b')"), "itself contains code"),
        (run("python", "-bIc", "print('a-b')"), "itself contains code"),
        (run("python", "-Wignore", "-Xdev", "-c", "print('a-b')"), "itself contains code"),
        (run("python", "-W", "ignore", "-c", "print('a-b')"), "itself contains code"),
        (run("python3.11", "-cprint('a-b')"), "itself contains code"),
        (run("python", "-I", "-c", "print('a-b')"), "itself contains code"),
        (run("node", "-e", "1"), "may load other code"),
        (run("node", "--eval", "1"), "may load other code"),
        (run("python", "-", stdin="print('a-b')"), "from stdin"),
        (run("python", stdin="print('a-b')"), "from stdin"),
        (run("python", "{files}/x.py", files={"x.py": "print('a-b')"}), "the case itself contains"),
        (run("python", "-i", "x.py"), "-i of Python"),
        (run("python", "--version"), "--version"),
        (run("node", "--require=./x.js", "y.js"), "may load other code"),
        (run("node", "--import", "data:text/javascript,0", "y.js"), "may load other code"),
        (run("node", "-pe", "1"), "may load other code"),
        (run("{files}/x", files={"x": "#!/bin/sh"}), "the case itself contains"),
        (run("python", "-m", "json.tool", "DONE"), "is part of Python"),
        (run("python", "/etc/passwd"), "outside the project"),
        (run("sh", "-c", "echo a-b"), "starts sh"),
        (run("/bin/bash", "x.sh"), "outside the project"),
        (run("env", "python", "-m", "kit"), "starts env"),
        (run("cat", "DONE"), "starts cat"),
        (run("echo", "a-b"), "starts echo"),
        (run("slug", "a-b"), "not an entry point"),
        (run("awk", "BEGIN{print 1}"), "starts awk"),
        (run("column", "DONE"), "starts column"),
        (run("ruby", "-e", "puts 1"), "may load other code"),
        (run("deno", "eval", "1"), "without `run`"),
        (run("python", "-m", "pytest", "--version"), "third-party package"),
        (run("../x/tool"), "outside the project"),
        (run("python", "-m", "other"), "not an entry point of the interface"),
        (http(status=200, json={"slug": "a"}), ""),
        (http(status=302, headers={"Location": "/x"}), ""),
        (http(status=200), "nothing of the response but a status"),
        (http(status=200, body=""), "nothing of the response but a status"),
        (http(status=200, headers={"Content-Type": "text/html"}), "nothing of the response but a status"),
        (page(sees=("Earn 40",)), ""),
        (page(tree=('button "Buy"',)), ""),
        (page(hides=("loyalty",)), "an empty page passes"),
    ],
)
def test_a_single_case_counts_only_if_it_asks_something_of_the_project(shown: Any, why: str) -> None:
    said = why_weak(shown, TEXT, WORDS) or why_strange(shown, INTERFACE, WORDS)
    assert (why in said) if why else said == ""


def why_vacuous(cases: Sequence[Shown], interface: Sequence[str] = ()) -> str:
    """Why a program that does nothing useful passes all these cases; "" if the cases of one entry point fail it."""
    found = set(passing_mutants(cases, interface))
    return "" if "" in found else next((why for why in (CONSTANT, ECHO, STUB) if why in found), STUB)


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("cases", "why"),
    [
        ([call(("A b",), "a-b"), call(("C d",), "c-d")], ""),
        ([call((4,), True), call((3,), False)], ""),
        ([call(("A b",), "a-b")], "a constant"),
        ([call(("A b",), "a-b"), call(("A-b",), "a-b")], "a constant"),
        ([call(("a",), "a"), call(("b",), "b")], "echoes its input"),
        ([call(("A b",), "a-b"), call(("b",), "b")], "a constant"),
        ([call(("A b",), "a-b"), call(("!",), "")], "a constant"),
        ([call((1,), None), call((2,), [])], "a stub"),
        ([call((1,), [4]), call((2,), {"$tuple": [4]})], "a constant"),
        ([call((1,), 4), call((2,), 4.0), call((3,), {"$float": "4"})], "a constant"),
        ([call((1,), 4), call((2,), [4]), call((3,), "4"), call((5,), "[4]\n")], "a constant"),
        ([call((1,), "x"), call((2,), {"$bytes": "x"}), call((3,), ["x"])], "a constant"),
        ([call(([1, 2],), {"$tuple": [1, 2]}), call(([3],), {"$tuple": [3]})], "echoes its input"),
        ([call((1, 2), "1 2"), call((3, 4), "3, 4")], "echoes its input"),
        ([call((1, 2), [[1], 2]), call((3, 4), {"a": [3, {"b": 4}]})], "echoes its input"),
        ([call((1,), "1"), call((2,), "2\n")], "echoes its input"),
        ([call((1,), [None]), call((2,), "None"), call((3,), {"$set": []})], "a stub"),
        ([call((3,), 0), call((4,), 7)], ""),
        ([call(("Ab",), "bA"), call(("Cd",), "dC")], ""),
        ([call(([2, 1],), None, args_after=([1, 2],)), call(([9, 3],), None, args_after=([3, 9],))], ""),
        ([call(([2, 1],), None, args_after=([0],)), call(([9, 3],), None, args_after=([0],))], "a constant"),
        ([raising("TypeError"), raising("ValueError")], "a stub"),
        ([call(("A b",), "a-b"), raising("TypeError")], "a constant"),
        ([run("kit", "A b"), run("kit", "C d", stdout="c-d\n")], ""),
        ([run("kit", "a", stdout="a\n"), run("kit", "b", stdout="b\n")], "echoes its input"),
        ([run("kit", "a", stdout="4\n"), run("kit", "b", stdout=None, stdout_json=4)], "a constant"),
        ([run("kit", "a", stdout=None, stdout_json=4), run("kit", "b", stdout=None, stdout_json=[4])], "a constant"),
        ([run("kit", "a", stdout="('a',)\n"), run("kit", "b", "c", stdout="['b', 'c']\n")], "echoes its input"),
        ([run("kit", "a", "b", stdout="a,b\n"), run("kit", "c", "d", stdout="c\nd")], "echoes its input"),
        ([run("kit", "a", stdout=None, stdout_json=["a"]), run("kit", "b", stdout='"b"\n')], "echoes its input"),
        ([run("kit", "pad", "a", "3", stdout="a  \n"), run("kit", "pad", "a", "5", stdout="a    \n")], ""),
        ([run("kit", stdin="a\n", stdout="a\n"), run("kit", "-", stdin="b", stdout="b\n")], "echoes its input"),
        (
            [run("kit", "{files}/x", files={"x": "1"}, stdout="1\n"), run("kit", "p", "q", stdout="p q\n")],
            "echoes its input",
        ),
        ([run("kit", "A", stdout=None, exit=0), run("kit", "B", stdout=None, exit=2)], "a stub"),
        ([http(json={"slug": "a-b"}), http(json={"slug": "c"})], ""),
        ([http(body="A"), http(json=[])], "echoes its input"),
        ([http(json={"slug": "a"}), http(body='{"slug": "a"}')], "a constant"),
        ([http(json=["A"]), http(json={"q": "A"}), http(body="q=A")], "echoes its input"),
        ([http(headers={"Location": "/a-1"}), http(headers={"Location": "/b-2"})], ""),
        ([http(headers={"Location": "/a-1"}), http(headers={"Location": "/a-1"})], "a constant"),
        ([http(headers={"Location": "A"}), http(headers={"X-Of": "A"}, body="A")], "echoes its input"),
        ([page(sees=("Earn 40 points",))], ""),
        ([page(sees=("/",))], "a stub"),
    ],
)
def test_some_entry_point_must_be_asked_for_two_different_results(cases: list[Any], why: str) -> None:
    assert (why in why_vacuous(cases)) if why else why_vacuous(cases) == ""


@pytest.mark.spec("LAW-5", "LAW-11")
@pytest.mark.parametrize(
    ("shown", "named"),
    [
        (call(("A",), "a"), True),
        (call(("A",), "a").model_copy(update={"call": "kit.core:backdoor"}), False),
        (call(("A",), "a").model_copy(update={"call": "kit.core:OddInput"}), True),
        (run("python", "-m", "kit", "slug", "A"), True),
        (run("python", "-m", "kit", "backdoor", "A"), False),
        (run("tool", "A"), False),
        (http(json={}), True),
        (HttpCase.model_validate({"http": {"path": "/backdoor"}, "json": {"a": 1}}), False),
    ],
)
def test_an_entry_point_that_nobody_named_is_a_side_door(shown: Any, named: bool) -> None:
    lines = (*INTERFACE, "kit.core:backdoor(x)", "python -m kit backdoor <x>", "GET /backdoor")
    assert (unnamed_entry(shown, lines, WORDS) == "") is named


def test_lines_of_the_interface_leave_places_open() -> None:
    assert declares("GET /users/<id>", HttpCase.model_validate({"http": {"path": "/users/7?x=1"}}))
    assert declares("GET /users/:id", HttpCase.model_validate({"http": {"path": "/users/7"}}))
    assert not declares("GET /users/<id>", HttpCase.model_validate({"http": {"path": "/users"}}))
    assert declares("python -m kit <command>", run("python", "-m", "kit", "slug"))
    assert not declares("<anything>", run("python", "-m", "kit"))
    # a word in capitals is a placeholder, unless the case has exactly that word
    assert declares("python -m kit count FILE", run("python", "-m", "kit", "count", "{files}/a.txt"))
    assert not declares("python -m kit count FILE", run("python", "-m", "kit", "slug", "{files}/a.txt"))
    assert declares("GET /users/ID", HttpCase.model_validate({"http": {"path": "/users/7"}}))
    assert not declares("FILE", run("python", "-m", "kit"))
    line = "python -m kit TRAPDOOR"
    assert "TRAPDOOR" in unnamed_entry(run("python", "-m", "kit", "TRAPDOOR"), [line], WORDS)
    assert entry_point(run("python", "-B", "-m", "kit", "slug")) == "python -B -m kit"
    assert why_outside_project([], WORDS) != ""


BASE = ("kit/__init__.py", "kit/json.py", "kit/.hidden", "src/shop/__main__.py")


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("python -m kit slug", True),
        ("python -Bm kit slug", True),
        ("python3.11 -Bmkit slug", True),
        ("python -W error -X dev tools/slug.py x", True),
        ("python -m kit.new", True),
        ("python -m fresh", True),  # it does not exist yet: the implementer makes it
        ("python -m click", False),
        ("python -m json.tool DONE", False),  # kit/json.py is another module
        ("python -m shop", True),  # found below src
        ("python -m pip list", False),
        ("python -m", False),
        ("python -m 'kit;x'", False),
        ("node cli.js a", True),
        ("node --no-warnings bin/cli.mjs a", True),
        ("node --loader ./x.mjs cli.js", False),
        ("node node_modules/cowsay/cli.js", False),
        ("node .cache/cli.js", False),
        ("./bin/tool a", True),
        ("bin/tool a", True),
        ("./kit/.hidden a", True),  # the base has it
        ("/usr/bin/tool a", False),
        ("kit-tool a", True),  # the manifest makes it
        ("slugger a", True),  # the user's words name it
        ("stranger a", False),
        ("cat DONE", False),  # the user's words name it, too, but it is the machine's program
        ("ruby bin/tool.rb a", True),
        ("ruby -ropen-uri bin/tool.rb", False),
        ("go run ./cmd/tool a", True),
        ("go run . a", True),
        ("go version", False),
        ("deno run main.ts", True),
        ("deno run https://example.com/x.ts", False),
        ("cargo run -q -- a", True),
        ("cargo run --manifest-path /x/Cargo.toml", False),
        ("cargo --version", False),
        ("make slug", False),
        ("npx cowsay", False),
    ],
)
def test_what_a_command_line_starts_is_the_projects_own_or_it_is_refused(line: str, ours: bool) -> None:
    manifest = '[project]\nname = "kit"\ndependencies = ["click"]\n[project.scripts]\nkit-tool = "kit:main"\n'
    known = KnownNames("slugger, or cat, makes slugs", dict.fromkeys(BASE, "") | {"pyproject.toml": manifest})
    assert (why_outside_project(shlex.split(line), known) == "") is ours


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("line", "fine"),
    [
        ("python -m shop", True),
        ("python app.py", True),
        ("node server.js", True),
        ("python -m uvicorn shop:app", True),  # the base declares it
        ("gunicorn shop:app", True),  # the user's words name it
        ("npm start", True),
        ("npm run dev", True),
        ("npm exec -- serve", False),
        ("python -m http.server", False),
        ("python -Ic 'import http.server'", False),
        ("busybox httpd", False),
        ("flask run", False),
    ],
)
def test_a_server_is_the_project_or_what_the_base_or_the_words_serve_it_with(line: str, fine: bool) -> None:
    known = KnownNames("started by gunicorn", {"requirements.txt": "uvicorn>=0.20\n"})
    assert (why_not_a_server(shlex.split(line), known) == "") is fine


@pytest.mark.spec("LAW-5")
def test_entry_points_are_the_interfaces_own_lines_and_each_is_judged_alone() -> None:
    def get(path: str, body: Any) -> HttpCase:
        return HttpCase.model_validate({"http": {"path": path}, "json": body})

    users = [get("/users/7", {"name": "Ann"}), get("/users/8", {"name": "Bob"})]
    assert why_vacuous(users, ("GET /users/<id>",)) == ""
    lines = ("python -m kit slug <text>", "python -m kit count <text>")
    counts = [run("python", "-m", "kit", "slug", one, stdout=f"{one.lower()}\n") for one in ("AB", "CD")]
    other = run("python", "-m", "kit", "count", "AB", stdout="2\n")
    assert [bool(why) for why in passing_mutants([*counts, other], lines)] == [False, False, True]


# -- no useless program passes cases that are not called vacuous -------------------------------------------------------

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b", "ab"]), st.just([])
)
CASES = st.lists(
    st.builds(lambda args, returns: call(tuple(args), returns), st.lists(VALUES, max_size=2), VALUES), max_size=6
)


def passes(program: Callable[[tuple[Any, ...]], Any], cases: list[CallCase]) -> bool:
    same = [(type(got := program(one.args)), got) == (type(one.returns), one.returns) for one in cases]
    return all(same)


@pytest.mark.spec("LAW-5")
@given(CASES, VALUES)
@settings(max_examples=400, deadline=None)
def test_no_constant_echo_or_stub_passes_cases_that_count(cases: list[CallCase], constant: Any) -> None:
    if why_vacuous(cases):
        return
    programs: list[Callable[[tuple[Any, ...]], Any]] = [
        lambda _: constant,
        lambda args: args[0] if args else None,
        lambda args: args[-1] if args else None,
        list,
        lambda _: None,
    ]
    assert not any(passes(program, cases) for program in programs)


@pytest.mark.spec("DAY-3", "LAW-5")
def test_an_agents_page_with_actions_must_say_what_is_absent_before_them_and_see_more_than_was_typed() -> None:
    actions = [{"type": "Ann", "field": "Name"}, {"press": "Enter"}]

    def page(**more: Any) -> BrowserCheck:
        return BrowserCheck.model_validate({"page": "/", "quotes": "it greets", "actions": actions, **more})

    known = KnownNames("it greets", {})
    assert "before: hides" in why_weak(page(sees=["Hello Ann"]), "it greets", known)
    assert why_weak(page(sees=["Hello Ann"], before={"hides": ["Hello Ann"]}), "it greets", known) == ""
    assert why_vacuous([page(sees=["Ann"], before={"hides": ["Ann"]})])
    assert not why_vacuous([page(sees=["Hello Ann"], before={"hides": ["Hello Ann"]})])
