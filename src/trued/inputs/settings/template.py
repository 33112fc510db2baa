"""The starter trued.toml of a project: settings with their defaults, commented out."""

from importlib.resources import files


def starter_settings(agents: str = "") -> str:
    """The text of the file; `agents` replaces the commented [agents] table."""
    text = files(__package__).joinpath("template.toml").read_text(encoding="utf-8")
    if not agents:
        return text
    before, _, rest = text.partition("# [agents]")
    after = rest.partition("\n\n")[2]
    return f"{before}{agents}\n\n{after}"
