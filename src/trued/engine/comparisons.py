"""Stores comparisons. A comparison is several runs under one id, in a file of the state folder."""

from collections import Counter
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from trued.engine.run_store import RunStore
from trued.model import Value
from trued.support import atomic_files

FOLDER = "comparisons"
FEWEST = 2  # a comparison has at least this many runs


class ComparedRun(Value):
    """A run of a comparison, and the name of its variant."""

    name: str
    run: str


class Comparison(Value):
    """Several runs under one id. Everything else about them is in the journal."""

    id: str
    repository: str
    at: float
    together: bool = False
    runs: tuple[ComparedRun, ...]


def save_comparison(store: RunStore, comparison: Comparison) -> None:
    folder = store.home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_files.write(folder / f"{comparison.id}.json", comparison.model_dump_json())


def comparisons(store: RunStore) -> list[Comparison]:
    """All comparisons, newest first. Leaves out a comparison if its file is damaged or one of its runs is gone."""
    found, runs = list[Comparison](), {run.id for run in store.journal.runs()}
    for file in (store.home / FOLDER).glob("c-*.json"):
        try:
            found.append(Comparison.model_validate_json(file.read_bytes()))
        except (ValidationError, OSError):
            continue
    there = [comparison for comparison in found if all(variant.run in runs for variant in comparison.runs)]
    return sorted(there, key=lambda comparison: (comparison.at, comparison.id), reverse=True)


def find_comparison(store: RunStore, name: str) -> Comparison | None:
    """The comparison whose id is `name`, or the only one whose id begins with `name`. None if there is no such
    comparison, or several."""
    every = comparisons(store)
    fitting = [comparison for comparison in every if comparison.id == name] or [
        comparison for comparison in every if name and comparison.id.startswith(name)
    ]
    return fitting[0] if len(fitting) == 1 else None


def comparison_with(store: RunStore, run: str) -> Comparison | None:
    """The newest comparison that contains the run; None if there is none."""
    return next(
        (comparison for comparison in comparisons(store) if any(variant.run == run for variant in comparison.runs)),
        None,
    )


def unique_names(given: Iterable[str]) -> Iterator[str]:
    """The names, made unique: a name that occurs again gets a number, as in `solo (2)`."""
    seen = Counter[str]()
    for name in given:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def without_front_matter(text: str) -> str:
    """The text without its YAML front matter."""
    _, rule, rest = text.partition("\n---\n")
    return (rest if rule and text.startswith("---\n") else text).strip()
