"""Finds the scripts that another script names, in JavaScript and TypeScript."""

import posixpath

from trued.proof.text.commit_texts import texts_at
from trued.proof.text.languages import SCRIPTS, is_script
from trued.proof.text.script_aliases import ScriptAliases, is_settings
from trued.proof.text.script_imports import relative_paths
from trued.protocols import Workspace


async def aliases_of(workspace: Workspace, commit: str) -> ScriptAliases:
    """The short names by which scripts of this commit import its files."""
    settings = [path for path in await workspace.blobs(commit) if is_settings(path)]
    return ScriptAliases(await texts_at(workspace, commit, settings))


def named_files(path: str, text: str, aliases: ScriptAliases) -> list[str]:
    """The files that a script names by a relative path, or imports by a short name, without their suffixes."""
    if not is_script(path):
        return []
    folder = posixpath.dirname(path)
    named = [posixpath.normpath(posixpath.join(folder, path)) for path in relative_paths(text)]
    named += aliases.loaded_by(path, text)
    return [file for place in named for file in (without_suffix(place), place, f"{place}/index")]


def without_suffix(path: str) -> str:
    """A path without the suffix of a script, if it has one."""
    return next((path.removesuffix(suffix) for suffix in SCRIPTS if path.endswith(suffix)), path)
