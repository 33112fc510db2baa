"""The scripted model itself: others rely on it."""

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.model import (
    CUT,
    DROP,
    HANG,
    HUGE,
    STALL,
    Answer,
    Ask,
    Call,
    Cast,
    Edit,
    Fault,
    ModelServer,
    Read,
    Run,
    Say,
    Script,
    Write,
)
from tests.real_agents.model.clients import CLIENTS, TOOLS, Client, post
from tests.real_agents.model.tools import END

every = pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)
STEPS = (Write("a.txt", "one\n"), Run("ls"), Say("All is done, and well."))
FOLDER = Path("/where/it/works")


@every
@pytest.mark.parametrize("streams", [True, False])
def test_the_step_is_counted_from_the_request_alone(client: Client, streams: bool) -> None:
    with ModelServer(Script(STEPS, FOLDER)) as model:
        said = ["Do it.", "> written", "> a.txt", "> more"]
        heard = [client.asks(model.url, said[:number], streams=streams) for number in (1, 2, 3, 4, 1)]
        later = client.asks(model.url, [*said, "Now another thing."], streams=streams)
    write = ("Write", {"file_path": "/where/it/works/a.txt", "content": "one\n"})
    run = ("Bash", {"command": "ls", "why": "as the script says"})
    last = ("", None)
    assert [(one.tool, one.arguments) for one in (*heard, later)] == [write, run, last, last, write, write]
    assert [one.text for one in heard[2:4]] == ["All is done, and well."] * 2
    assert {one.dialect for one in model.seen} == {client.name}
    assert model.troubles == []


@every
def test_tokens_are_counted_as_they_are_told(client: Client) -> None:
    with ModelServer(Script(STEPS)) as model:
        heard = [client.asks(model.url, ["Do it." * size]) for size in (1, 1000)]
    assert [one.sent for one in heard] == [one.usage.sent for one in model.seen]
    assert heard[1].sent - heard[0].sent == pytest.approx(len("Do it.") * 999 / 4, abs=1)
    assert (model.total().sent, model.total().said) == (sum(one.sent for one in heard), sum(one.said for one in heard))
    assert model.peak() == heard[1].sent + heard[1].said
    assert model.total(lambda one: len(one.turn.asked) < 10).sent == heard[0].sent


@every
def test_what_is_asked_on_the_side_is_no_step(client: Client) -> None:
    with ModelServer(Script(STEPS, faults=[Fault(500)])) as model:
        heard = client.asks(model.url, ["A title for this?"], tools={})
        assert client.asks(model.url, ["Do it."]).status == 500
    assert heard.text == "ok"
    assert model.asked == []


@every
def test_a_status_comes_as_often_as_told_with_the_providers_words(client: Client) -> None:
    faults = [Fault(429, times=2, retry_after=7, message="Come back on Monday."), Fault(401)]
    with ModelServer(Script(STEPS, faults=faults)) as model:
        heard = [client.asks(model.url, ["Do it."]) for _ in range(4)]
    assert [one.status for one in heard] == [429, 429, 401, 200]
    assert dict(heard[0].headers)["retry-after"] == "7"
    assert b"Come back on Monday." in heard[0].raw
    assert [one.failed for one in model.seen] == [429, 429, 401, 0]
    assert model.total().sent == model.seen[-1].usage.sent


def test_a_fault_waits_for_good_answers_or_for_a_marker() -> None:
    (client, *_) = CLIENTS
    faults = [Fault(500, after=2), Fault(529, marker="the second agent")]
    with ModelServer(Script(STEPS, faults=faults)) as model:
        said = ["You are the first.", "You are the second agent.", "First.", "First.", "First."]
        heard = [client.asks(model.url, [one]).status for one in said]
    assert heard == [200, 529, 200, 500, 200]


@every
def test_a_dropped_stream_ends_in_the_middle(client: Client) -> None:
    with ModelServer(Script([Say("A long answer, in bits.")], faults=[Fault(how=DROP)])) as model:
        with pytest.raises(http.client.IncompleteRead) as caught:
            client.asks(model.url, ["Do it."])
        assert caught.value.partial
        assert client.asks(model.url, ["Do it."]).text == "A long answer, in bits."
    assert [one.fault for one in model.seen] == [DROP, ""]


@every
@pytest.mark.parametrize("streams", [True, False])
def test_a_cut_answer_ends_well_but_is_no_json(client: Client, streams: bool) -> None:
    with (
        ModelServer(Script([Say("A long answer, in bits.")], faults=[Fault(how=CUT)])) as model,
        pytest.raises(json.JSONDecodeError),
    ):
        client.asks(model.url, ["Do it."], streams=streams)


@pytest.mark.parametrize("how", [HANG, STALL])
def test_what_hangs_or_stalls_ends_with_the_server_and_so_do_all_threads(how: str) -> None:
    (client, *_) = CLIENTS
    before, failures = set(threading.enumerate()), list[Exception]()

    def asks(url: str) -> None:
        try:
            client.asks(url, ["Do it."])
        except (http.client.HTTPException, OSError) as failure:
            failures.append(failure)

    with ModelServer(Script(STEPS, faults=[Fault(how=how)])) as model:
        asking = threading.Thread(target=asks, args=(model.url,))
        asking.start()
        idle = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=60)
        idle.request("HEAD", "/")
        idle.getresponse().read()
        while not model.seen:
            time.sleep(0.005)
        assert not failures
    asking.join(60)
    idle.close()
    assert len(failures) == 1
    assert set(threading.enumerate()) <= before


def test_a_huge_answer_is_as_large_as_told() -> None:
    (client, *_) = CLIENTS
    with ModelServer(Script(STEPS, faults=[Fault(how=HUGE, size=1_000_000)])) as model:
        heard = client.asks(model.url, ["Do it."])
    assert len(heard.text) == 1_000_000
    assert heard.said == 250_000


@every
def test_one_server_plays_several_parts(client: Client) -> None:
    parts = {
        "AGAIN": Script([Say("mended")]),
        "team a": Script([Say("A")]),
        "You are it.": Script([Say("by its role")]),
    }
    with ModelServer(Cast(parts)) as model:
        said = (["You are team a."], ["You are team a.", "AGAIN, please."], ["What am I?"])
        heard = [client.asks(model.url, one).text for one in said]
    assert heard == ["A", "mended", "by its role"]


# -- steps and tools --------------------------------------------------------------------------------------------------


def done(step: Any, tools: dict[str, Any], *, client: str = "responses") -> tuple[str, Any]:
    """What the model does for this step where these tools are offered."""
    chosen = next(one for one in CLIENTS if one.name == client)
    with ModelServer(Script([step, Say("done")], FOLDER)) as model:
        heard = chosen.asks(model.url, ["Do it."], tools=tools)
    assert model.troubles == []
    return heard.tool, heard.arguments if heard.tool else heard.text


def schema(*names: str, required: tuple[str, ...] = (), **kinds: str) -> dict[str, Any]:
    known = {name: {"type": kinds.get(name, "string")} for name in names}
    return {"type": "object", "properties": known, "required": list(required)}


WHERE = "/where/it/works/a.txt"
PATCHED = f"*** Begin Patch\n*** Add File: {WHERE}\n+one\n*** End Patch"


@pytest.mark.parametrize(
    ("step", "tool", "arguments"),
    [
        (Write("a.txt", "one\n"), {"write": schema("filePath", "content")}, {"filePath": WHERE, "content": "one\n"}),
        (Write("a.txt", "one\n"), {"apply_patch": schema("input")}, {"input": PATCHED}),
        (
            Write("a.txt", "one\n"),
            {"bash": schema("command")},
            {"command": f"mkdir -p '/where/it/works' && cat > '{WHERE}' <<'{END}'\none\n{END}"},
        ),
        (Read("a.txt"), {"read_file": schema("path")}, {"path": WHERE}),
        (Read("a.txt"), {"exec_command": schema("cmd")}, {"cmd": f"cat '{WHERE}'"}),
        (
            Edit("a.txt", "one", "two"),
            {"replace": schema("file_path", "old_string", "new_string", "instruction", required=("instruction",))},
            {"file_path": WHERE, "old_string": "one", "new_string": "two", "instruction": "as the script says"},
        ),
        (
            Edit("a.txt", "one", "two"),
            {"edit": schema("filePath", "oldString", "newString")},
            {"filePath": WHERE, "oldString": "one", "newString": "two"},
        ),
        (
            Run("ls"),
            {"shell": schema("command", "wait", required=("command", "wait"), command="array", wait="boolean")},
            {"command": ["bash", "-c", "ls"], "wait": False},
        ),
        (Call("Task", {"prompt": "x"}), {"Bash": schema("command")}, {"prompt": "x"}),
        (Answer({"ok": True}), {"StructuredOutput": schema("ok")}, {"ok": True}),
        (Answer({"ok": True}), {"final_result": schema("ok")}, {"ok": True}),
    ],
)
def test_a_step_is_done_with_the_tool_that_is_offered(
    step: Any, tool: dict[str, Any], arguments: dict[str, Any]
) -> None:
    name = step.name if isinstance(step, Call) else next(iter(tool))
    assert done(step, tool) == (name, arguments)


def test_without_a_tool_for_it_an_answer_is_json_and_a_question_is_said() -> None:
    assert done(Answer({"ok": True}), TOOLS) == ("", '{"ok": true}')
    assert done(Ask("Which one?"), TOOLS) == ("", "Which one?")


def test_a_question_fills_the_agents_own_form() -> None:
    option = schema("label", "description", required=("label", "description"))
    item = {**schema("question", "header", required=("question", "header", "options"))}
    item["properties"]["options"] = {"type": "array", "items": option}
    form = {"type": "object", "properties": {"questions": {"type": "array", "items": item}}, "required": ["questions"]}
    name, arguments = done(Ask("Which one?"), {"AskUserQuestion": form})
    assert name == "AskUserQuestion"
    (asked,) = arguments["questions"]
    assert asked["question"] == "Which one?"
    assert len(asked["options"]) == 2


def test_a_typed_answer_is_given_once_and_again_only_when_it_is_refused() -> None:
    (client, *_) = CLIENTS
    tools = {"StructuredOutput": schema("ok")}
    with ModelServer(Script([Answer({"ok": 1})])) as model:
        taken = client.asks(model.url, ["Do it.", "> taken"], tools=tools)
        body = client.body(["Do it.", "> no"], tools, False)
        body["messages"][1]["content"][0]["is_error"] = True
        _, _, raw = post(model.url, client.path, body)
    assert (taken.tool, taken.text) == ("", "That was my answer.")
    assert json.loads(raw)["content"][1]["input"] == {"ok": 1}


def test_where_only_code_can_call_tools_the_step_is_code() -> None:
    about = "### `apply_patch` … ### `exec_command`"
    offered = [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec", "description": about}]}
    ]
    body = {"model": "m", "input": [{"type": "additional_tools", "role": "developer", "tools": offered}]}
    with ModelServer(Script([Run("ls")])) as model:
        _, _, raw = post(model.url, "/v1/responses", body)
    assert json.loads(raw)["output"][0]["input"] == 'text(await tools.exec_command({"cmd": "ls"}));'


def test_what_cannot_be_done_or_read_is_told() -> None:
    (client, *_) = CLIENTS
    with ModelServer(Script([Run("ls")])) as model:
        heard = client.asks(model.url, ["Do it."], tools={"Read": schema("file_path")})
        status, _, _ = post(model.url, client.path, {"model": "m"})
    assert heard.text.startswith("I cannot go on: the agent offers no shell")
    assert status == 400
    assert len(model.troubles) == 2


def test_what_programs_put_in_beside_is_no_question_of_the_users() -> None:
    (client, *_) = CLIENTS
    with ModelServer(Script(STEPS)) as model:
        client.asks(model.url, ["Do it.", "> written", "<system-reminder>Mind the gap.</system-reminder>"])
        client.asks(model.url, ["Do it.", "Stop hook feedback: not yet"])
    assert [(one.turn.number, one.turn.asked) for one in model.seen] == [(1, "Do it."), (1, "Do it.")]
