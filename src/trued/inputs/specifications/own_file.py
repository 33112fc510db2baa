"""A requirements file inside the repository. Agents can read it, so its cases are not held out."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from trued.inputs.requirements.file import READERS, parse_requirements
from trued.model import Environment, Requirements

NAMES = ("trued.requirements", ".trued/requirements")


class OwnFile:
    name = "trued.requirements.toml|yaml|json"

    def matching_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if _is_ours(path))

    def read(self, files: Mapping[str, str]) -> Requirements:
        """The requirements of all these files, with their environments and interfaces. If several files name a server,
        the first counts."""
        parts = [parse_requirements(text, path) for path, text in files.items()]
        environment = Environment()
        for part in parts:
            environment = environment.over(part.environment)
        return Requirements(
            file=", ".join(files),
            environment=environment,
            serve=next((part.serve for part in parts if part.serve), None),
            interface=tuple(dict.fromkeys(entry for part in parts for entry in part.interface)),
            requirements=tuple(requirement for part in parts for requirement in part.requirements),
        )


def _is_ours(path: str) -> bool:
    pure = PurePosixPath(path)
    if pure.suffix.lower() not in READERS:
        return False
    return str(pure.with_suffix("")) in NAMES or pure.parent == PurePosixPath(".trued/requirements")
