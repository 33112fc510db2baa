"""Whether a long backlog stays workable: what a brief says and what a task costs at 100 and at 1,000 tasks."""

import math
import time
from typing import Any

from bench.overhead import module, said
from bench.show import Target, show
from trued.model import TeamSettings
from trued.workflows.team.backlog import render
from trued.workflows.team.backlog.brief import brief_of
from trued.workflows.team.backlog.items import Backlog
from trued.workflows.team.backlog.reading import parse_backlog
from trued.workflows.team.files import Records, changed

FEW, MANY = 100, 1000
MEASURED = 40  # tasks that are really worked on, through the whole engine: from the first on, where the file is longest
GROWTH = 1.2
ROLES = ("techlead", "dev", "qa", "uat")


def backlog_of(tasks: int) -> Backlog:
    backlog = Backlog()
    for number in range(tasks // 10):
        backlog, feature = backlog.with_new_feature(f"Part {number} of the catalogue", ["it is found", "it is sold"])
        for part in range(2):
            backlog, story = backlog.with_new_story(feature, f"Story {part}")
            for step in range(5):
                backlog, _ = backlog.with_new_task(story, f"Write step {step} with its tests", files=[f"s{step}.py"])
    return backlog


def documents(tasks: int) -> dict[str, float]:
    """All tasks from the first to the last, without engine and agents: values, files and briefs alone."""
    backlog, records, there = backlog_of(tasks), Records(), dict[str, str]()
    began, longest, written = time.process_time(), 0, 0
    for feature in backlog.features:
        backlog = backlog.with_feature(feature.id, status="in_progress")
        for task in feature.tasks:
            backlog = backlog.with_task(task.id, attempts=1)
            records = records.with_attempt(task.id, task.description, 1, 10, 0.0)
            longest = max(longest, len(brief_of(backlog, task.id)))
            backlog = backlog.with_task(task.id, state="done")
            records = records.with_test(task.id, (1, 10), (), 0.0, tried=["all tests"])
            records = records.with_completed(task.id, task.description, 1, 0.0, summary="done", files=task.files)
            files = records.files("the goal", backlog, TeamSettings())
            written += sum(map(len, changed(there, files).values()))
            there = files
        backlog = backlog.with_feature(feature.id, status="completed", uat="passed")
    used = time.process_time() - began
    text = render(backlog_of(tasks))
    began = time.process_time()
    parse_backlog(text)
    return {
        "us_a_task": used / tasks * 1e6,
        "brief": longest,
        "written_a_task": written / tasks,
        "longest_file": max(map(len, there.values())),
        "read_ms": (time.process_time() - began) * 1e3,
    }


def _growth(engine: dict[int, dict[str, Any]], role: str) -> float:
    """NaN where a role had no brief: that is no growth, and no figure."""
    few, many = (engine[number]["briefs"].get(role, 0) for number in (FEW, MANY))
    return many / few if few else math.nan


def main() -> bool:
    engine = {number: said(module("long_backlog", number, MEASURED)) for number in (FEW, MANY)}
    alone = {number: documents(number) for number in (FEW, MANY)}
    rows = [
        [
            f"{number} tasks",
            f"{engine[number]['cpu_s'] * 1000:.0f}",
            *(str(engine[number]["briefs"].get(role, 0)) for role in ROLES),
            f"{alone[number]['us_a_task'] / 1000:.1f}",
            f"{alone[number]['written_a_task'] / 1024:.0f}",
            f"{alone[number]['read_ms']:.0f}",
        ]
        for number in (FEW, MANY)
    ]
    header = ["team, scripted", "CPU ms a task", *(f"{role}'s brief" for role in ROLES)]
    header += ["of that files, ms", "KiB written", "edit read, ms"]
    targets = [Target(f"CPU a task at {MANY}, to that at {FEW}", engine[MANY]["cpu_s"] / engine[FEW]["cpu_s"], GROWTH)]
    targets += [Target(f"{role}'s brief at {MANY}, to that at {FEW}", _growth(engine, role), GROWTH) for role in ROLES]
    return show("backlog", header, rows, targets, {"engine": engine, "documents": alone})
