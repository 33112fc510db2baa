"""Select the forge on which a repository's pull requests are opened."""

from collections.abc import Mapping
from pathlib import Path

from trued.errors import BadInput
from trued.integrations.git_remotes import remote_address
from trued.integrations.github import API, NAME, check_repository, repository_of
from trued.integrations.http import service_of
from trued.model import ForgeSettings
from trued.protocols import Forge


def forge_of(settings: ForgeSettings, environ: Mapping[str, str], root: Path, folder: Path) -> Forge:
    """The forge that the settings name. With `kind` "auto", this is the forge of the repository's remote. Without a
    forge, pull requests become files in `folder`. `root`: the user's repository. Raises BadInput if neither the
    settings nor the remote name a repository on the forge."""
    if is_without_forge(settings, root):
        return _local(folder, root)
    api = settings.url or API
    pushed_to = repository_of(remote_address(root, settings.remote), api)
    repository = check_repository(settings.repository, "forge.repository") if settings.repository else pushed_to
    if not repository:
        what = f"the remote {settings.remote} is not a GitHub repository"
        raise BadInput(what, str(root), 'name one: [forge] repository = "owner/name"')
    from trued.integrations.forges.github import GitHubForge

    at = service_of(NAME, api, settings.token_env, environ)
    return GitHubForge(at, repository, settings.remote, pushed_to)


def is_without_forge(settings: ForgeSettings, root: Path) -> bool:
    """Whether pull requests of this repository are files: the settings say so, or its remote is not on a forge."""
    if settings.kind == "auto":
        return not repository_of(remote_address(root, settings.remote), settings.url or API)
    return settings.kind == "local"


def _local(folder: Path, root: Path) -> Forge:
    from trued.integrations.forges.local import LocalForge

    return LocalForge(folder, root)
