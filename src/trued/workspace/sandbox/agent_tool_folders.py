"""Finds the folders of the user's own tools, which an agent must see to run the project's tests.

Scripts that the engine runs in a clone see the same folders. Checks do not: `Bench` (`proof/room/bench.py`) says what a
check may read, and `machine_path` in `proof/room/virtualenv.py` makes its PATH.
"""

import os
from collections.abc import Iterator
from pathlib import Path

# System folders that contain programs. Every sandbox shows them, so entries of PATH in them need no further folder.
SYSTEM_PROGRAM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/opt", "/nix/store")
# Folders below HOME that contain programs and no secrets. Each is shown only if PATH leads into it.
KNOWN = (
    (".pyenv", (".pyenv",)),
    (".nvm", (".nvm/versions",)),
    (".fnm", (".fnm",)),
    (".local/share/fnm", (".local/share/fnm",)),
    (".volta", (".volta",)),
    (".asdf", (".asdf", ".tool-versions")),
    (".local/share/mise", (".local/share/mise",)),
    (".local/share/uv", (".local/share/uv/python", ".local/share/uv/tools")),
    (".cargo", (".cargo/bin", ".rustup")),
    (".bun", (".bun/bin",)),
    (".deno", (".deno/bin",)),
    (".rbenv", (".rbenv",)),
    (".sdkman", (".sdkman/candidates",)),
    ("go", ("go/bin",)),
    ("miniconda3", ("miniconda3",)),
    ("anaconda3", ("anaconda3",)),
    ("miniforge3", ("miniforge3",)),
    (".local/bin", (".local/bin", ".local/share/uv/python", ".local/share/uv/tools", ".local/pipx/venvs")),
)


def toolchain_folders(path: str, home: str) -> tuple[str, ...]:
    """Folders to show so that programs on PATH can run. System folders are left out, because every sandbox shows them.
    HOME is never shown as a whole: only virtual environments and known folders of tools in it are."""
    return tuple(dict.fromkeys(shown for entry in path.split(":") for shown in _readable_folders(entry, Path(home))))


def visible_path(path: str, folders: tuple[str, ...]) -> str:
    """PATH without folders that are invisible in the sandbox. With Landlock, a shell would find a program in such a
    folder, and then fail to start it."""
    seen = [Path(folder) for folder in (*SYSTEM_PROGRAM_FOLDERS, *folders)]
    return ":".join(entry for entry in path.split(":") if any(Path(entry).is_relative_to(folder) for folder in seen))


def _readable_folders(entry: str, home: Path) -> Iterator[str]:
    """Folders to show for an entry of PATH. None if the entry is a system folder, does not exist, or cannot be read
    (after `su`, PATH can still name another user's folders)."""
    folder = Path(entry)
    if not folder.is_absolute() or any(folder.is_relative_to(system) for system in SYSTEM_PROGRAM_FOLDERS):
        return
    if not os.access(folder, os.R_OK) or not folder.is_dir():
        return
    if (folder.parent / "pyvenv.cfg").is_file():
        yield from _environment(folder.parent)
    elif folder.is_relative_to(home):
        for name, folders in KNOWN:
            if folder.is_relative_to(home / name):
                yield from (str(home / subfolder) for subfolder in folders if (home / subfolder).exists())
    elif folder.name in ("bin", "shims") and len(folder.parts) > 3:
        yield str(folder.parent)
    else:
        yield entry


def _environment(folder: Path) -> Iterator[str]:
    """Yield the folders of a virtual environment and of the interpreter that it is based on."""
    yield str(folder)
    real = Path(os.path.realpath(folder / "bin" / "python"))
    if not any(real.is_relative_to(system) for system in SYSTEM_PROGRAM_FOLDERS) and len(real.parts) > 4:
        yield str(real.parents[1])
