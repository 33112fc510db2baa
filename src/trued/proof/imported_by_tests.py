"""Finds the scripts that tests import, by reading texts. Some test runners do not show which files they load."""

from collections.abc import Collection

from trued.proof.text.commit_texts import MOST_FILES, texts_at
from trued.proof.text.languages import is_script
from trued.proof.text.script_aliases import ScriptAliases, fitting_files, is_settings, relative_imports
from trued.protocols import Workspace


async def imported_by_tests(workspace: Workspace, commit: str, tests: Collection[str]) -> frozenset[str]:
    """The scripts of this commit that these test files import, directly or through other scripts, without the tests
    themselves. An import counts if it names a relative path, or a short name that the commit's settings define."""
    known = await workspace.blobs(commit)
    scripts = {path for path in known if is_script(path)}
    aliases = ScriptAliases(await texts_at(workspace, commit, [path for path in known if is_settings(path)]))
    to_read, reached = {path for path in tests if path in scripts}, set[str]()
    while to_read and len(reached) < MOST_FILES:
        reached |= to_read
        texts = await texts_at(workspace, commit, sorted(to_read))
        places = {
            place
            for path, text in texts.items()
            for place in (*relative_imports(path, text), *aliases.loaded_by(path, text))
        }
        to_read = {path for place in places for path in fitting_files(place, scripts)} - reached
    return frozenset(reached - {*tests})
