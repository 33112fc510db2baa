"""The part of a backlog that goes into an agent's brief: the agent's feature, the features next to it, and counts for
the whole backlog."""

from trued.workflows.team.backlog.items import MARKS, Backlog, BacklogFeature, BacklogTask, Story

SHOWN = 30  # tasks of the current feature listed
WIDTH = 300  # characters in one line


def brief_of(backlog: Backlog, name: str, folder: str = "") -> str:
    """Status and position of the feature or task `name`, in a text whose length does not grow with the backlog."""
    feature = backlog.feature(name)
    position = backlog.place(feature.id)
    near = [(word, position + step) for word, step in (("before it", -1), ("after it", 1))]
    done, failed, every, completed = backlog.tally
    lines = [
        f"{done} of {every} tasks are done{f', {failed} have failed' if failed else ''}; "
        f"{completed} of {len(backlog.features)} features are completed. All of it: {folder}backlog.md",
        *(f"{word}: {_feature_line(backlog.features[to])}" for word, to in near if 0 <= to < len(backlog.features)),
        f"{_feature_line(feature)}, UAT {feature.uat}",
        *_stories(feature, name, folder),
    ]
    return "\n".join(line[:WIDTH] for line in lines)


def _feature_line(feature: BacklogFeature) -> str:
    done, _, every = feature.counts
    return f"{feature.id}: {feature.name[:120]} ({feature.status}, {done} of {every} tasks done)"


def _stories(feature: BacklogFeature, name: str, folder: str) -> list[str]:
    """Lines with the feature's stories and tasks. If there are many tasks, only those around the task `name` or, if
    `name` is the feature, around the first open task."""
    rows: list[tuple[Story, BacklogTask]] = [(story, task) for story in feature.stories for task in story.tasks]
    position = next((number for number, (_, task) in enumerate(rows) if task.id == name), None)
    if position is None:
        position = next((number for number, (_, task) in enumerate(rows) if task.is_open), 0)
    start = max(0, min(position - SHOWN // 2, len(rows) - SHOWN))
    lines: list[str] = []
    last = ""
    for story, task in rows[start : start + SHOWN]:
        if story.id != last:
            lines.append(f"- {story.id}: {story.name[:120]} ({story.done} of {len(story.tasks)} tasks done)")
            last = story.id
        lines.append(f"  - {MARKS[task.state]} {task.id}: {task.description[:160]}{_about(task, name)}")
    hidden = len(rows) - min(len(rows), SHOWN)
    return [*lines, *([f"- {hidden} more tasks of it are in {folder}backlog.md"] if hidden else [])]


def _about(task: BacklogTask, name: str) -> str:
    needs = f", needs {', '.join(task.depends_on[:5])}" if task.depends_on else ""
    tried = f", attempt {task.attempts} of {task.limit}" if task.attempts and task.is_open else ""
    return f"{needs}{tried}{' (this one)' if task.id == name else ''}"
