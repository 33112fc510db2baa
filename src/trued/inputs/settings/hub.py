"""Finds the addresses of the hub's database and of its store, in the environment or the user's settings."""

from collections.abc import Mapping

from trued.inputs.settings.folders import FILE, user_config

VARIABLE = "TRUED_HUB"
STORE_VARIABLE = "TRUED_HUB_STORE"


def hub_address(environ: Mapping[str, str]) -> str:
    """The address of the hub's database; "" if there is no hub. An empty environment variable overrides the settings.

    Raises BadInput if the user's settings cannot be read.
    """
    return _address(environ, VARIABLE, "url")


def store_address(environ: Mapping[str, str]) -> str:
    """The address of the bare repository through which machines exchange commits; "" if there is none.

    Raises BadInput if the user's settings cannot be read.
    """
    return _address(environ, STORE_VARIABLE, "store")


def _address(environ: Mapping[str, str], variable: str, key: str) -> str:
    if variable in environ:
        return environ[variable].strip()
    folder = user_config(environ)
    try:
        given = (folder / FILE).read_bytes()
    except OSError:
        return ""
    if b"hub" not in given:
        return ""
    from trued.inputs.settings.loader import user_hub  # imported here: it is slow to load, and every command calls this

    return str(getattr(user_hub(folder), key))
