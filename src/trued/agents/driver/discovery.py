"""Finds an agent's program, and the files and folders that the program must be able to read."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trued.support.path_sets import lies_inside, outermost_paths

# System folders with programs. Every sandbox shows them, so `readable` does not list them.
SYSTEM_PROGRAM_PREFIXES = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/nix/store/")
SHELVES = ("bin", ".bin", "sbin", "shims")  # folders with programs and links to programs
LINKS = 40  # links that are followed, as in the kernel
VERSION_S, VERSION_BYTES = 10.0, 4096


@dataclass(frozen=True, slots=True)
class InstalledProgram:
    """An installed program, and what it needs to run in the sandbox."""

    path: str
    readable: tuple[str, ...] = ()  # files and folders outside the system folders
    variables: Mapping[str, str] = field(default_factory=dict)  # variables that it needs to find its own files


def find_program(program: str, path: str | None = None, home: str | None = None) -> InstalledProgram | None:
    """Find the program on PATH, and the files and folders that it must be able to read. None if the program is not
    installed. The folders never include HOME or a folder above HOME."""
    user = Path(home or os.environ.get("HOME") or "/nonexistent")
    found_path = shutil.which(program, path=path)
    if not found_path:
        return None
    found_path, variables = _behind_shim(os.path.abspath(found_path), program, user)  # noqa: PTH100
    chain = _link_chain(found_path)
    shown = [chain[-1], *_package_folders(chain[-1], user), *_interpreter_folders(chain[-1], path, user)]
    # Start the link, not its target, where possible: a script resolves the link itself to find its package.
    start = next(
        (link for link in chain if _is_in_bin_folder(link, user) or any(lies_inside(link, folder) for folder in shown)),
        chain[-1],
    )
    shown += [str(Path(link).parent) for link in chain[chain.index(start) : -1] if _is_in_bin_folder(link, user)]
    return InstalledProgram(
        start, outermost_paths(folder for folder in shown if not folder.startswith(SYSTEM_PROGRAM_PREFIXES)), variables
    )


def program_version(path: str) -> str:
    """The program's version in one line, from its npm package or as the program prints it; "" if unknown. If the
    program is run, it gets only PATH from the user's environment."""
    if known := _packaged_version(os.path.realpath(path)):
        return known
    with tempfile.TemporaryDirectory(prefix="trued-version-") as home:
        variables = {"HOME": home, "PATH": f"{Path(path).parent}:{os.environ.get('PATH', os.defpath)}", "NO_COLOR": "1"}
        try:
            output = _version_output([path, "--version"], variables, home)
        except (OSError, subprocess.TimeoutExpired):
            return ""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if any(map(str.isdigit, line))]
    return lines[0][:80] if lines else ""


def _packaged_version(real: str) -> str:
    """The version of an npm script, read from its package, which is quicker than running the script; "" if unknown."""
    if "node_modules" not in Path(real).parts or not _shebang_words(real):
        return ""
    for folder in Path(real).parents:
        if (folder / "package.json").is_file() or folder.name == "node_modules":
            try:
                return str(json.loads((folder / "package.json").read_bytes())["version"])[:80]
            except (OSError, ValueError, KeyError, TypeError):
                return ""
    return ""


def _version_output(argv: list[str], variables: dict[str, str], folder: str) -> bytes:
    """Run the command and return the beginning of its stdout. If it runs for too long, kill its process group and raise
    TimeoutExpired."""
    with tempfile.TemporaryFile(dir=folder) as out:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd=folder,
            start_new_session=True,
        )
        try:
            process.wait(VERSION_S)
        finally:
            _kill_group(process)
        out.seek(0)
        return out.read(VERSION_BYTES)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()


def _link_chain(path: str) -> list[str]:
    """The links from `path` to the real file, in this order; the real file is last."""
    chain = [path]
    while len(chain) < LINKS and os.path.islink(chain[-1]):  # noqa: PTH114
        target = os.path.join(os.path.dirname(chain[-1]), os.readlink(chain[-1]))  # noqa: PTH115, PTH118, PTH120
        chain.append(os.path.normpath(target))
    real = os.path.realpath(path)
    return chain if chain[-1] == real else [*chain, real]


def _is_in_bin_folder(path: str, home: Path) -> bool:
    folder = Path(path).parent
    return folder.name in SHELVES and _is_apart(folder, home)


def _is_apart(folder: Path, home: Path) -> bool:
    """Whether the folder is neither HOME, nor above HOME, nor a top-level folder."""
    return len(folder.parts) > 2 and not home.is_relative_to(folder) and not home.resolve().is_relative_to(folder)


def _package_folders(real: str, home: Path) -> Iterator[str]:
    """Yield the folder that the program needs, if any. For a program of an npm package it is `node_modules`, or pnpm's
    store. For a program in a Python virtual environment it is the environment. For any other program it is the
    program's own folder, but nothing is yielded if that folder holds many programs, such as `bin`. HOME and the folders
    above HOME are never yielded."""
    program = Path(real)
    if "node_modules" in program.parts:
        modules = Path(*program.parts[: program.parts.index("node_modules") + 1])
        # pnpm keeps all packages in its store
        store = next((folder for folder in modules.parents if folder.name == ".pnpm"), modules)
        yield str(store)
    elif (program.parents[1] / "pyvenv.cfg").is_file() and _is_apart(program.parents[1], home):
        yield str(program.parents[1])
    elif program.parent.name not in SHELVES and _is_apart(program.parent, home):
        yield str(program.parent)


def _interpreter_folders(real: str, path: str | None, home: Path) -> Iterator[str]:
    """Yield the interpreter in a script's `#!` line, the links to it, and the folders that it needs. Nothing is yielded
    for a program without such a line. The paths can be under HOME, where version managers install interpreters."""
    shebang = _shebang_words(real)
    # The script's own folder is first on its PATH, so an interpreter there is found first.
    interpreter_path = (
        shutil.which(shebang[0], path=f"{Path(real).parent}:{path or os.environ.get('PATH', os.defpath)}")
        if shebang
        else None
    )
    if not interpreter_path:
        return
    chain = _link_chain(os.path.abspath(interpreter_path))  # noqa: PTH100
    yield from (link for link in chain[:-1] if not _is_in_bin_folder(link, home))
    yield from (str(Path(link).parent) for link in chain if _is_in_bin_folder(link, home))
    yield chain[-1]
    prefix = Path(chain[-1]).parents[1] if len(Path(chain[-1]).parts) > 2 else Path("/")
    if Path(chain[-1]).name.startswith(("python", "pypy", "ruby", "perl")) and _is_apart(prefix, home):
        yield str(prefix)


def _shebang_words(real: str) -> list[str]:
    try:
        with Path(real).open("rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    argv = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if argv and Path(argv[0]).name == "env":
        argv = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    return argv


def _behind_shim(found_path: str, program: str, home: Path) -> tuple[str, dict[str, str]]:
    """The program behind a version manager's shim, and the variables that the program needs; `found_path` itself if it
    is no shim. A shim would not work: it reads settings from HOME, and the agent has another HOME."""
    real = Path(os.path.realpath(found_path))
    if real.name == "volta-shim" or real.parent == home / ".volta" / "bin":
        versions = sorted((home / ".volta/tools/image/packages").glob(f"**/bin/{program}"), key=_age)
        return (str(versions[-1]) if versions else found_path), {"VOLTA_HOME": str(home / ".volta")}
    if Path(found_path).parent.name == "shims":
        installs = Path(found_path).parent.parent / "installs"
        versions = sorted((version for version in installs.glob(f"*/*/bin/{program}") if version.is_file()), key=_age)
        return (str(versions[-1]) if versions else found_path), {}
    return found_path, {}


def _age(path: Path) -> float:
    return path.stat().st_mtime
