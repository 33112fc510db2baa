"""Read a requirements file (TOML, YAML or JSON): the user's own requirements and checks, each with its line."""

import base64
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from trued.errors import BadInput
from trued.inputs.requirements.file_format import SUBJECTS, RequirementsFile
from trued.inputs.validation import validate
from trued.model import Requirement, Requirements, TestsCheck
from trued.support.located import Located, read_json, read_text, read_toml, read_yaml

CARRIED_BYTES = 16 * 2**20  # the files that come with a contract may have this many bytes together

READERS: dict[str, Callable[[str, str], Located]] = {
    ".toml": read_toml,
    ".json": read_json,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}


def load_requirements(path: Path) -> Requirements:
    """Read a requirements file, and the files that its checks take from folders beside it. Raises BadInput if one of
    the files is missing or invalid."""
    requirements = parse_requirements(read_text(path), str(path))
    return requirements.model_copy(update={"carried": carried_files(requirements, path.parent)})


def parse_requirements(text: str, file: str) -> Requirements:
    """Read the text of a requirements file. The suffix of its name decides between TOML, YAML and JSON. Raises BadInput
    for an invalid text."""
    suffix = PurePosixPath(file).suffix.lower()
    if suffix not in READERS:
        raise BadInput(f"{file} is not a requirements file", then=f"its name must end in {', '.join(READERS)}")
    located = READERS[suffix](text, file)
    validate(RequirementsFile, located, subjects=SUBJECTS)
    entries = [
        {**entry, "source": {"file": file, "line": located.line("requirements", number)}}
        for number, entry in enumerate(located.value["requirements"])
    ]
    requirements = Requirements.model_validate_json(
        json.dumps({**located.value, "file": file, "requirements": entries}), strict=True
    )
    _check_ids(requirements, located)
    return requirements


def _check_ids(requirements: Requirements, located: Located) -> None:
    first: dict[str, int] = {}
    for number, requirement in enumerate(requirements.requirements):
        if requirement.id in first:
            what = f"two requirements have the id {requirement.id}; the first is on line {first[requirement.id]}"
            raise BadInput(what, located.where("requirements", number, "id"), "give this one another id")
        first[requirement.id] = requirement.source.line


# -- files that come with the contract


def carried_files(requirements: Requirements, folder: Path) -> dict[str, str]:
    """The files that checks take from folders (`from`): path in the project → content in base64. Symbolic links that
    lead out of their folder are ignored. Raises BadInput if a folder or its files are missing, if two files clash, or
    if all files together have more than CARRIED_BYTES bytes."""
    carried: dict[str, str] = {}
    for requirement in requirements.requirements:
        for check in requirement.checks:
            if isinstance(check, TestsCheck) and check.from_:
                below = _files_below(folder / check.from_, check, requirement)
                if other := next((name for name in below if carried.get(name, below[name]) != below[name]), ""):
                    what = f"two folders named by `from` have a file {other}, with different contents"
                    raise BadInput(what, str(requirement.source), "rename one of the two files")
                carried |= below
    if sum(map(len, carried.values())) > CARRIED_BYTES * 4 // 3:
        what = "the folders named by `from` hold more than 16 MiB"
        raise BadInput(what, requirements.file, "name only what the tests need")
    return dict(sorted(carried.items()))


def carried_folders(requirements: Requirements, folder: Path) -> tuple[Path, ...]:
    """The folders that checks take files from (`from`). `folder`: the folder of the requirements file."""
    checks = [check for requirement in requirements.requirements for check in requirement.checks]
    named = {check.from_ for check in checks if isinstance(check, TestsCheck) and check.from_}
    return tuple(folder / name for name in sorted(named))


def _files_below(folder: Path, check: TestsCheck, requirement: Requirement) -> dict[str, str]:
    if not folder.is_dir():
        raise BadInput(
            f"there is no folder {folder}", str(requirement.source), "`from` must name a folder beside this file"
        )
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    root = folder.resolve()
    names = {str(path.relative_to(folder)): path for path in paths if path.resolve().is_relative_to(root)}
    selected = [name for name in names if not check.files or any(_is_below(name, folder) for folder in check.files)]
    if not selected:
        what = f"{folder} contains none of the files of requirement {requirement.id}"
        raise BadInput(what, str(requirement.source), "put them there at the paths that they have in the project")
    return {name: base64.b64encode(_content(names[name])).decode() for name in selected}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def _is_below(path: str, folder: str) -> bool:
    clean = folder.removeprefix("./").rstrip("/")
    return path == clean or path.startswith(f"{clean}/")
