"""Where the journal of all runs is: the address of a hub, from the environment or the user's own settings."""

from collections.abc import Mapping

from trued.inputs.settings.folders import FILE, user_config

VARIABLE = "TRUED_HUB"


def hub_address(environ: Mapping[str, str]) -> str:
    """The address of the hub; "" for the embedded journal. An empty variable overrules the settings.

    Raises BadInput if the user's settings cannot be read.
    """
    if VARIABLE in environ:
        return environ[VARIABLE].strip()
    folder = user_config(environ)
    try:
        given = (folder / FILE).read_bytes()
    except OSError:
        return ""
    if b"hub" not in given:
        return ""
    from trued.inputs.settings.loader import user_hub  # slow to load, and every command asks

    return user_hub(folder)
