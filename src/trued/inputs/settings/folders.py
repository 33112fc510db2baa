"""The folders that the environment names: private state, the user's own settings, the home folder."""

from collections.abc import Mapping
from pathlib import Path

from trued.errors import BadInput

FILE = "trued.toml"  # name of the file with a project's settings, and of the file with the user's own


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder of all private state."""
    if given := environ.get("TRUED_HOME"):
        return _expand_home("TRUED_HOME", given).absolute()
    state = environ.get("XDG_STATE_HOME") or str(user_home(environ) / ".local" / "state")
    return Path(state) / "trued"


def user_config(environ: Mapping[str, str]) -> Path:
    """The folder of the user's own settings and roles."""
    config = environ.get("XDG_CONFIG_HOME") or str(user_home(environ) / ".config")
    return Path(config) / "trued"


def user_home(environ: Mapping[str, str]) -> Path:
    """The user's home folder, where other tools keep the user's files."""
    return Path(environ["HOME"]) if environ.get("HOME") else _expand_home("HOME", "~")


def _expand_home(name: str, path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadInput(f"the home folder in {path!r} is unknown", name, "write the whole path") from None
