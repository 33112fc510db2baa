"""Plays the demo with real `trued` processes, one of which is really killed."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from trued.cli.demo.bill import Bill, bill, bill_entries
from trued.cli.demo.facts import LIE, VICTIM, DemoEnd, check_facts, repeated_calls
from trued.cli.demo.narration import Narrator, event_row
from trued.cli.demo.place import DemoPlace, create_place
from trued.engine.run_store import RunStore
from trued.errors import TruedError
from trued.model import Event, Grade, Verdict
from trued.model.events.call import CallAsked, CallStarted
from trued.model.events.proof import RequirementJudged
from trued.support.hashing import folder_name
from trued.support.processes import is_alive

LOOK_S = 0.05
TIME_LIMIT_S = 900.0  # far more than a slow, busy machine needs; ends a demo that hangs
BEATS = {
    "chunk 1A/": (2, "Chunk 1A: honest work", "Two agents share a chunk: A builds, B reviews. Both only make claims."),
    "chunk 1B/": (3, "Chunk 1B: a lie", "Now A hard-codes the plan's only example and claims that it is done."),
    "chunk 2A/": (4, "Chunk 2A: kill -9", "While A works on the last chunk, the engine is killed without warning."),
    "finish": (0, "", "The engine runs every check again, on the final commit:"),
}


class Failed(Exception):
    """The demo cannot continue."""


class Demo:
    def __init__(self, keep: Path | None, environ: Mapping[str, str], narrator: Narrator) -> None:
        self.narrator, self.place = narrator, create_place(keep, environ)
        self.store = RunStore(self.place.home, self.place.environ)
        self.began, self.run = time.monotonic(), ""
        # id of the newest event that was read; part of the run that is shown now; kind and key of each printed event
        self.seen, self.part, self.printed = 0, "", set[tuple[str, str]]()

    def play(self) -> int:
        try:
            return self._play_parts()
        except (Failed, TruedError) as failure:
            self.narrator.fact(False, f"the demo could not continue: {failure}")
            self.narrator.print_text(f"its files are in {self.place.folder}; `trued doctor` checks this machine")
            return 1
        finally:
            self.store.close()

    def _play_parts(self) -> int:
        self._print_opening()
        killed = self._run_and_kill()
        code = self._resume()
        paid = bill(self.store.folder(self.run), self.store.journal.events(self.run))
        self._print_bill(paid)
        self.narrator.headline(5, "The ledger: every requirement and its evidence")
        self._show_command_output("ledger", self.run)
        self._output("report", self.run, "-o", str(self.place.report))
        return self._print_closing(check_facts(self._demo_end(killed, code), paid))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _print_opening(self) -> None:
        self.narrator.print_text(
            "trued demo: scripted agents, not a model. No network, no key; none of your files is touched.", "bold"
        )
        self.narrator.print_text(f"Everything happens in {self.place.folder}")
        self.narrator.headline(1, "A plan, and a contract sealed before work starts")
        self.narrator.print_text("textkit/PLAN.md asks for three chunks of work in a small Python repository.")
        self.narrator.print_text(
            "held-out/requirements.yaml says what must be true at the end, with cases that no agent can read."
        )
        self.narrator.command(
            "cd textkit && trued run PLAN.md --yes --requirements ../held-out/requirements.yaml \\\n"
            "          --agent scripted:../agents.py"
        )
        self.narrator.print_text(
            "First the engine runs every case on the unchanged code, in a sandbox: only a case that fails now can later"
            " prove that something was built. This takes a few seconds."
        )

    def _run_and_kill(self) -> bool:
        arguments = ("run", "PLAN.md", "--yes", "--requirements", str(self.place.requirements))
        child = self._start(*arguments, "--agent", f"scripted:{self.place.agents}")
        for event in self._events(child):
            self._narrate_event(event)
            if event.key == VICTIM and (started := CallStarted.read(event)):
                return self._kill_engine(child, started.pid)
        raise Failed(f"the run ended before it could be killed: {self._last_words()}")

    def _kill_engine(self, child: subprocess.Popen[bytes], supervisor: int) -> bool:
        spool = self.store.folder(self.run) / "spool" / f"{folder_name(VICTIM)}.1" / "events.jsonl"
        while not bill_entries(spool):  # wait until the agent itself reports its start
            self._check_time()
            time.sleep(LOOK_S)
        time.sleep(0.5)
        self.narrator.command(f"kill -9 {child.pid}")
        child.kill()
        code = child.wait()
        lives = is_alive(supervisor)
        continued = "; the agent keeps working" if lives else ""
        self.narrator.print_text(f"The engine is dead (signal {-code}){continued}.", "bold red")
        return code == -signal.SIGKILL and self.store.journal.run(self.run).state == "running" and lives

    def _resume(self) -> int:
        self.narrator.command(f"trued resume {self.run}")
        child = self._start("resume", self.run)
        for event in self._events(child):
            self._narrate_event(event)
        return child.wait()

    def _print_bill(self, paid: Bill) -> None:
        calls = f"the journal has {len(paid.answered)} calls, and agents were started {paid.paid} times"
        self.narrator.print_text(f"{calls}: {repeated_calls(paid)}", "bold")

    def _print_closing(self, facts: list[tuple[bool, str]]) -> int:
        place, seconds = self.place, time.monotonic() - self.began
        self.narrator.headline(6, f"What you have seen, in {seconds:.0f} seconds")
        for is_so, text in facts:
            self.narrator.fact(is_so, text)
        self.narrator.print_text(f"report   {place.report}")
        self.narrator.print_text(f"branch   trued/{self.run} in {place.repository}; your own branch was not touched")
        self.narrator.headline(7, "Look around")
        for command in _next_commands(place):
            self.narrator.command(command)
        self.narrator.print_text(
            "Try to cheat: let A keep lying after it was refuted. That run ends “not proven”, exit code 1:"
        )
        for command in _tampering_commands(place):
            self.narrator.command(command)
        self.narrator.print_text(f"Clean up: rm -r {quote(str(place.folder))}")
        return 0 if all(is_so for is_so, _ in facts) else 1

    # -- processes and journal -----------------------------------------------------------------------------------------

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.place.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                self.place.trued(*arguments),
                cwd=self.place.repository,
                env=dict(self.place.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _events(self, child: subprocess.Popen[bytes]) -> Iterator[Event]:
        """The journal's events as they happen, until the process has ended. If the caller stops reading before that,
        the process is ended."""
        try:
            while True:
                over = child.poll() is not None
                self.run = self.run or next((run.id for run in self.store.journal.runs()), "")
                for event in self.store.journal.events(self.run, after=self.seen) if self.run else ():
                    self.seen = event.id
                    yield event
                if over:
                    return
                self._check_time()
                time.sleep(LOOK_S)
        finally:
            if child.poll() is None:
                child.terminate()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(10)

    def _check_time(self) -> None:
        if time.monotonic() - self.began > TIME_LIMIT_S:
            raise Failed(f"it did not finish within {TIME_LIMIT_S:.0f} s: {self._last_words()}")

    def _narrate_event(self, event: Event) -> None:
        self._print_headline(event.key)
        once = (event.kind, event.key)
        # the resumed engine records calls in progress a second time
        if event.kind == CallAsked.KIND and once in self.printed:
            return
        self.printed.add(once)
        if line := event_row(event):
            self.narrator.event(time.monotonic() - self.began, *line)
        if (judged := RequirementJudged.read(event)) and judged.grade is Grade.REFUTED:
            self.narrator.print_text("REFUTED. What an agent claims can lower a verdict, never raise it.", "bold red")
            self.narrator.print_text("A is told the kind of failure, never the held-out case.")

    def _print_headline(self, key: str) -> None:
        """Print a headline when the next part of the run starts."""
        part = key[: key.find("/") + 1] or key
        if part == self.part or part not in BEATS:
            return
        self.part = part
        number, title, sentence = BEATS[part]
        if number:
            self.narrator.headline(number, title)
        self.narrator.print_text(sentence)

    def _demo_end(self, killed: bool, code: int) -> DemoEnd:
        journal = self.store.journal
        refuted = journal.step(self.run, f"{LIE}prove#1")
        return DemoEnd(
            events=journal.events(self.run),
            lie=Verdict.model_validate_json(refuted).grade if refuted else None,
            killed=killed,
            code=code,
            grade=journal.run(self.run).grade,
        )

    def _show_command_output(self, *arguments: str) -> None:
        self.narrator.command(f"trued {' '.join(arguments)}")
        self.narrator.output(self._output(*arguments))

    def _output(self, *arguments: str) -> str:
        done = subprocess.run(
            self.place.trued(*arguments),
            cwd=self.place.repository,
            env=dict(self.place.environ),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise Failed(f"`trued {' '.join(arguments)}` ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return done.stdout

    def _last_words(self) -> str:
        path = self.place.folder / "output.txt"
        lines = path.read_text(errors="replace").strip().splitlines() if path.is_file() else []
        return lines[-1] if lines else "it printed nothing"


def _next_commands(place: DemoPlace) -> Iterator[str]:
    beside = Path(sys.executable).parent
    path = f" PATH={quote(str(beside))}:$PATH" if not shutil.which("trued") and (beside / "trued").exists() else ""
    yield f"cd {quote(str(place.repository))}; export TRUED_HOME={quote(str(place.home))}{path}"
    yield "trued page           # all of this in your browser: who worked when, what was refuted, every transcript"
    yield "trued why count      # the evidence for one requirement"
    yield "trued show           # every call with its time and tokens;  trued diff: the work"


def _tampering_commands(place: DemoPlace) -> Iterator[str]:
    agents, requirements = quote(str(place.agents)), quote(str(place.requirements))
    yield f"sed -i 's/^HONEST_AFTER_REFUTATION = True/HONEST_AFTER_REFUTATION = False/' {agents}"
    yield f"trued run PLAN.md --yes --requirements {requirements} --agent scripted:{agents}"
