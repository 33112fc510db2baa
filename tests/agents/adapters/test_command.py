"""Any program as an agent: what it gets, what it may print, and what it reads if its reply is broken."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.supervisor.world import DONE, LEVELS, World
from trued.agents.adapters import capabilities_of
from trued.agents.driver.reply_format import SHOWN, BrokenReply, parse_final_reply, parse_reply, schema_errors


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "a folder, not ASCII: é" / "w")


def quoted(agent: str) -> str:
    program, _, file = agent.partition(" ")
    return f'{program} "{file}"'


@pytest.mark.spec("AGT-7")
async def test_a_program_is_given_its_order_on_stdin_in_its_clone(world: World) -> None:
    agent = quoted(
        world.program('print(json.dumps({"summary": json.dumps([order, os.getcwd(), os.environ["HOME"]])}))')
    )
    report = await world.runtime().work(world.order(agent), world.tell)
    order, folder, home = json.loads((report.reply or {})["summary"])
    assert set(order) == {"role", "brief", "schema", "session", "attempt", "run", "key"}
    assert (order["role"], order["attempt"], order["key"]) == ("builder", 1, "chunk 1A/builder one")
    assert (folder, home) == (str(world.clone), str(world.top / "home"))


@pytest.mark.spec("AGT-7")
async def test_a_program_that_fails_is_quoted_with_its_last_lines(world: World) -> None:
    body = 'print("first", file=sys.stderr)\nprint("\\x1b[31mno key\\x1b[0m", file=sys.stderr)\nsys.exit(3)'
    report = await world.runtime().work(world.order(quoted(world.program(body))), world.tell)
    assert (report.state, report.kind) == ("failed", "crashed")
    assert "exit code 3" in report.why
    assert report.why.endswith("first\nno key")


@pytest.mark.spec("AGT-7", "USE-7")
@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("command:no-such-program-anywhere x", "on PATH; install it"),
        ("command:./tool.sh", "in the agent's folder"),
        ("command:'", "check its quotes"),
        ("command:''", "has no program"),
        ("scripted:/nowhere/agent.py", "there is no script /nowhere/agent.py"),
    ],
)
async def test_a_program_that_is_not_there_is_named_with_what_to_do(world: World, agent: str, said: str) -> None:
    report = await world.runtime().work(world.order(agent), world.tell)
    assert (report.state, report.kind) == ("failed", "missing")
    assert said in report.why


@pytest.mark.spec("AGT-7")
async def test_a_path_is_seen_from_the_clone_and_a_name_is_not(world: World) -> None:
    tool = world.clone / "uname"
    tool.write_text('#!/bin/sh\necho \'{"summary": "mine"}\'\n')
    tool.chmod(0o755)
    mine = await world.runtime().work(world.order("command:./uname", "path"), world.tell)
    system = await world.runtime().work(world.order("command:uname", "name"), world.tell)
    assert mine.reply == {"summary": "mine"}
    assert system.kind == "contract"


@pytest.mark.spec("AGT-3")
@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "it is empty"),
        ("I am done.", "not JSON"),
        ('{"summary": "a"}\n{"summary": "b"}', "a second JSON value"),
        ('[{"summary": "a"}]', "a JSON array"),
        ('Here it is:\n```json\n{"summary": "quoted from a file"}\n```', "not JSON"),
        ('{"summary": "a"}\nHope this helps!', "other text"),
        ('{"summary": "a", "summary": "b"}', "'summary' twice"),
        ('{"summary": NaN}', "NaN"),
        ('{"summary": "\\ud800"}', "half of a character"),
        ("[" * 100_000, "nested too deeply"),
        ("null", "null"),
    ],
)
def test_only_one_whole_json_object_is_an_answer(printed: str, said: str) -> None:
    with pytest.raises(BrokenReply, match=said):
        parse_reply(printed.encode())


def test_bytes_that_are_no_text_are_no_answer() -> None:
    with pytest.raises(BrokenReply, match="not UTF-8"):
        parse_reply(b'{"summary": "\xff"}')


# Replies of a real model that is too small for the work, shortened: cut off inside a fence, or repeated in a loop.
BROKEN_OFF = '```\n{\n  "type": "code",\n  "description": "The map of the code. A test checks that every path on'
LOOP = "\nThe way of one goal is to have a single module that can be used by multiple machines." * 200


@pytest.mark.spec("AGT-3")
@pytest.mark.parametrize("said", [BROKEN_OFF, LOOP, BROKEN_OFF.removeprefix("```\n"), f"{LOOP}\n```json\n{{"])
def test_what_a_small_model_says_is_no_reply_and_is_told_in_a_few_words(said: str) -> None:
    for read in (partial(parse_reply, said.encode()), partial(parse_final_reply, said)):
        with pytest.raises(BrokenReply) as broken:
            read()
        assert "it is not JSON" in str(broken.value)
        assert len(str(broken.value)) < 400


@pytest.mark.spec("AGT-3")
@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (BROKEN_OFF, "in a code fence and breaks off before its end"),
        ('```json\n{"summary": "all is well"}\n```', "in a code fence: the object alone is needed"),
        (BROKEN_OFF.removeprefix("```\n"), "breaks off after"),
        ('{"summary": "all is well"', "breaks off after 25 characters"),
        (LOOP, "Expecting value"),
        ('{"summary": nothing}', "Expecting value"),
    ],
)
def test_whoever_is_asked_again_is_told_what_was_wrong(said: str, wrong: str) -> None:
    """JSON in a fence is still no reply: an agent that only quotes a reply has not answered."""
    with pytest.raises(BrokenReply, match="it is not JSON") as broken:
        parse_reply(said.encode())
    assert wrong in str(broken.value)


@pytest.mark.spec("AGT-3")
async def test_a_quoted_contract_is_asked_about_and_then_refused(world: World) -> None:
    body = """
        print("The file says:")
        print("```json")
        print(json.dumps({"summary": "all done"}))
        print("```")
        """
    report = await world.runtime().work(world.order(quoted(world.program(body))), world.tell)
    assert (report.state, report.kind, report.reply, report.asks) == ("failed", "contract", None, 2)
    assert "contract broken" in [event["kind"] for event in world.events()]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values, max_size=4)


@settings(deadline=None, max_examples=50)
@given(objects, st.sampled_from(["", " ", "\n\t"]))
def test_any_object_comes_back_as_it_was_said(reply: dict[str, object], space: str) -> None:
    assert parse_reply(f"{space}{json.dumps(reply)}{space}".encode()) == reply


@settings(deadline=None, max_examples=50)
@given(objects, st.text(min_size=1).filter(str.strip))
def test_no_text_may_stand_behind_the_object(reply: dict[str, object], more: str) -> None:
    with pytest.raises(BrokenReply):
        parse_reply((json.dumps(reply) + more).encode("utf-8", "replace"))


def test_errors_are_sentences_with_their_place_and_not_too_many() -> None:
    schema = {"properties": {"list": {"items": {"type": "integer"}}}}
    found = schema_errors({"list": ["a"] * 30}, schema)
    assert found[0] == "at `list[0]`: 'a' is not of type 'integer'"
    assert len(found) == SHOWN + 1
    assert found[-1] == "and 20 more"


@pytest.mark.skipif("bubblewrap" not in LEVELS, reason="needs a sandbox that hides files")
@pytest.mark.spec("AGT-7")
async def test_files_named_in_the_arguments_can_be_read_in_the_sandbox(tmp_path: Path) -> None:
    world = World(tmp_path / "w", level="bubblewrap")
    (tmp_path / "notes.txt").write_text("a note")
    (tmp_path / "other.txt").write_text("not named")
    body = """
        there = [Path(word.rpartition("=")[2]).exists() for word in sys.argv[1:]]
        print(json.dumps({"summary": str([*there, Path(sys.argv[1]).with_name("other.txt").exists()])}))
        """
    agent = f"{world.program(body)} {tmp_path}/notes.txt --config={tmp_path}/notes.txt"
    report = await world.runtime().work(world.order(agent), world.tell)
    assert report.reply == {"summary": "[True, True, False]"}


def test_capabilities_are_known_without_starting_anything() -> None:
    assert not capabilities_of(f"command:{sys.executable}").resume
    assert capabilities_of("scripted:x.py").resume
    assert capabilities_of("command:claude").vendor == ""


async def test_usage_that_a_script_simulates_is_marked(world: World) -> None:
    agent = world.script('order["usage"](tokens_in=1200, tokens_out=300, cost_usd=0.01)\nreturn {"summary": "x"}')
    report = await world.runtime().work(world.order(agent), world.tell)
    assert (report.usage.tokens_in, report.usage.tokens_out, report.usage.cost_usd) == (1200, 300, 0.01)
    assert [event["simulated"] for event in world.events() if event["kind"] == "usage"] == [True]


async def test_what_a_script_prints_is_log_and_not_its_answer(world: World) -> None:
    agent = world.script('print("{}"); os.system("echo from a child")\nreturn {"summary": "x"}')
    report = await world.runtime().work(world.order(agent), world.tell)
    assert report.reply == {"summary": "x"}
    assert {event["text"] for event in world.events() if event["kind"] == "log"} == {"{}", "from a child"}


async def test_a_script_without_the_roles_function_says_which_one_it_needs(world: World) -> None:
    agent = world.script(DONE)
    report = await world.runtime().work(world.order(agent, role="purple-team-a"), world.tell)
    assert "purple_team_a(order, folder)" in report.why
    named = await world.runtime().work(world.order(f"{agent}#builder", "two", role="purple-team-a"), world.tell)
    assert "json" in named.why, "the named function was called"


@pytest.mark.spec("USE-6", "LAW-7")
async def test_nothing_in_the_clone_is_run_or_followed_outside_the_sandbox(tmp_path: Path) -> None:
    """An agent can rewrite a program of the repository: neither a name with `python` nor a link may lead outside."""
    world = World(tmp_path / "w", level="bubblewrap")
    proof, secret = tmp_path / "ran-outside", tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("the user's own")
    program = world.clone / "python-agent"
    program.write_text(f"#!/bin/sh\ntouch {proof}\ncat link/key >&2\necho '{{}}'\n")
    program.chmod(0o755)
    (world.clone / "link").symlink_to(secret)
    (world.clone / "python-link").symlink_to(secret / "key")
    report = await world.runtime().work(world.order("command:./python-agent", schema={}), world.tell)
    assert report.state == "done"
    await world.runtime().work(world.order("command:./python-link", "two", schema={}), world.tell)
    assert not proof.exists()
    assert "the user's own" not in world.files()
