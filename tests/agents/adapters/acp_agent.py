"""A small agent that speaks ACP: each line of the prompt says what it does next.

Words that it knows: says TEXT · thinks · writes FILE · runs SECONDS · asks KIND · requests IN OUT · counts IN OUT ·
used TOKENS DOLLARS · spawns SECONDS · fails CODE WORDS · stops REASON · hangs · dies · killed.
Sessions are files in its HOME.
It does not use the protocol's library, so that tests with it are quick.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BOOKS = Path.home() / "sessions"
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Failed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Agent:
    """Answers one method of the protocol after another; `tell` and `ask` send messages to the client."""

    def __init__(self, forgets: bool) -> None:
        self.forgets, self.session, self.tools = forgets, "", 0
        self.response: dict[str, Any] = {"stopReason": "end_turn"}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {"loadSession": not self.forgets}}
        if method == "session/new":
            BOOKS.mkdir(exist_ok=True)
            self.session = f"own-{len(list(BOOKS.iterdir())) + 1}"
            (BOOKS / self.session).write_text("")
            return {"sessionId": self.session}
        if method == "session/load":
            return self.load(params["sessionId"])
        if method == "session/prompt":
            return self.prompt(params["prompt"][0]["text"])
        raise Failed(-32601, f"there is no {method}")

    def load(self, session: str) -> dict[str, Any]:
        if not (BOOKS / session).exists():
            raise Failed(-32002, f"no session {session}")
        self.session = session
        for line in (BOOKS / session).read_text().splitlines():
            self.tell("user_message_chunk", content={"type": "text", "text": line})
            self.says("what I said before")
        return {}

    def prompt(self, text: str) -> dict[str, Any]:
        with (BOOKS / self.session).open("a") as file:
            file.write(json.dumps(text) + "\n")
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if callable(act := getattr(self, word, None)):
                act(rest)
        return self.response

    def tell(self, what: str, **data: Any) -> None:
        send(method="session/update", params={"sessionId": self.session, "update": {"sessionUpdate": what, **data}})

    def says(self, text: str) -> None:
        for piece in (text[:3], text[3:]):
            self.tell("agent_message_chunk", content={"type": "text", "text": piece})

    def thinks(self, _: str) -> None:
        self.tell("agent_thought_chunk", content={"type": "text", "text": "a thought"})

    def writes(self, name: str) -> None:
        tool = self.begins("edit", {"path": name})
        Path(name).write_text(f"written in {self.session}\n")
        self.tell("tool_call_update", toolCallId=tool, status="completed")

    def runs(self, seconds: str) -> None:
        tool = self.begins("execute", {"command": f"sleep {seconds}"})
        if (BOOKS / self.session).read_text().count("\n") == 1:  # only the first time that it is asked
            time.sleep(float(seconds))
        self.tell("tool_call_update", toolCallId=tool, status="completed")

    def asks(self, kind: str) -> None:
        tool = self.begins(kind, {}, "pending")
        call = {"toolCallId": tool, "title": f"something of kind {kind}"}
        params = {"sessionId": self.session, "toolCall": call, "options": OPTIONS}
        send(id=900 + self.tools, method="session/request_permission", params=params)
        outcome = json.loads(sys.stdin.readline())["result"]["outcome"]
        allowed = outcome == {"outcome": "selected", "optionId": "yes"}
        Path(f"{kind}-{'allowed' if allowed else 'refused'}").touch()
        self.tell("tool_call_update", toolCallId=tool, status="completed" if allowed else "failed")

    def killed(self, _: str) -> None:
        if (BOOKS / self.session).read_text().count("\n") == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def begins(self, kind: str, given: dict[str, str], status: str = "in_progress") -> str:
        self.tools += 1
        name = f"tool-{self.tools}"
        self.tell("tool_call", toolCallId=name, title=kind, kind=kind, status=status, rawInput=given)
        return name

    def requests(self, counted: str) -> None:
        sent, said = map(int, counted.split())
        self.response["usage"] = {"inputTokens": sent, "outputTokens": said, "totalTokens": sent + said}

    def counts(self, counted: str) -> None:
        sent, said = map(int, counted.split())
        usage = {"inputTokens": sent, "outputTokens": said, "totalTokens": sent + said}
        self.tell("agent_message_chunk", content={"type": "text", "text": ""}, _meta={"usage": usage})

    def used(self, told: str) -> None:
        tokens, dollars = told.split()
        self.tell("usage_update", used=int(tokens), size=9000, cost={"amount": float(dollars), "currency": "USD"})

    def spawns(self, seconds: str) -> None:
        subprocess.Popen(["sleep", seconds], start_new_session=True, stdout=subprocess.DEVNULL)

    def fails(self, said: str) -> None:
        code, _, words = said.partition(" ")
        raise Failed(int(code), words)

    def stops(self, reason: str) -> None:
        self.response["stopReason"] = reason

    def hangs(self, _: str) -> None:
        time.sleep(600)

    def dies(self, _: str) -> None:
        print("I die here", file=sys.stderr, flush=True)
        os._exit(9)


def main() -> None:
    agent = Agent("--forgets" in sys.argv)
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        try:
            send(id=asked["id"], result=agent.answer(asked["method"], asked["params"]))
        except Failed as error:
            send(id=asked["id"], error={"code": error.code, "message": str(error)})


if __name__ == "__main__":
    main()
