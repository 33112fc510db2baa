"""The addresses of a repository's remotes."""

from pathlib import Path

from trued.errors import BadInput
from trued.support.user_git import ask_git


def remote_address(root: Path, remote: str) -> str:
    """The address of a remote as git itself would push to it; "" if there is none. Raises BadInput for a name that no
    remote can have."""
    if remote.startswith("-") or not remote.isprintable() or not remote.strip():
        raise BadInput(f"{remote!r} is not a remote", "forge.remote", 'write a name such as "origin"')
    return (ask_git(root, "remote", "get-url", "--push", remote) or b"").decode(errors="replace").strip()
