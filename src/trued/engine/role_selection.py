"""Selects the role files of a run, and checks that they exist and that the user trusts them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles import RoleSet, apply_role_choices, find_roles
from trued.engine.agent_selection import roles_of_other_workflows
from trued.engine.trust import RepositoryFiles, files_to_trust, trusted_files
from trued.errors import BadInput, Untrusted
from trued.inputs.settings.folders import user_config, user_home
from trued.inputs.settings.loader import load_settings
from trued.model import Role, Settings
from trued.workflows.registry import descriptor


@dataclass(frozen=True, slots=True)
class TrustedFiles:
    """The files of a repository that the user trusts."""

    root: Path
    what: RepositoryFiles
    files: frozenset[str]

    def need(self, names: Iterable[str]) -> None:
        if missing := [name for name in sorted(names) if name not in self.files]:
            raise Untrusted(
                f"{', '.join(missing)} in {self.root} {'is' if len(missing) == 1 else 'are'} not trusted yet",
                then=f"review with `trued trust`, or pass --trust {self.what.digest}",
            )


def check_trust(root: Path, home: Path, given: str) -> TrustedFiles:
    """The trusted files. Raises Untrusted if a settings or role file of trued is not trusted. Role files of other tools
    are checked when a role needs them. `given`: the digest that the user passed with --trust."""
    what = files_to_trust(root)
    agreed = TrustedFiles(
        root, what, frozenset(what.files) if given == what.digest else trusted_files(home, root, what)
    )
    agreed.need(set(what.files) - what.others)
    return agreed


def check_role_names(settings: Settings, found: RoleSet) -> None:
    """Raise BadInput if the settings name an agent for a role that does not exist."""
    others = roles_of_other_workflows(settings.workflow)
    known = ", ".join(["default", *sorted(found.packaged - others)])
    for name in settings.agents:
        if name != "*" and name not in found.roles and name not in others:
            raise BadInput(f"there is no role {name!r}", then=f"known: {known}")


def check_repository_settings(root: Path, environ: Mapping[str, str]) -> None:
    """Raise BadInput if a run could not use the repository's settings and roles: a bad value, or an unknown role."""
    settings = load_settings({}, {}, root, None)
    found = roles_here(root, settings, environ)
    check_role_names(settings, found)
    apply_role_choices(found, settings.roles)


def roles_here(root: Path | None, settings: Settings, environ: Mapping[str, str]) -> RoleSet:
    """All roles that a run with these settings could use. Raises BadInput for a role file that cannot be read."""
    files = descriptor(settings.workflow).role_files()
    return find_roles(root, user_config(environ), user_home(environ), workflow=files)


def select_roles(role_set: RoleSet, settings: Settings, agreed: TrustedFiles) -> dict[str, Role]:
    """The roles of a run: those of its workflow, and those that the user named.

    A role file of another tool is used if it has the name of a role of the workflow, or if the user named it. Raises
    Untrusted if the user does not trust such a file.
    """
    taken = (role_set.packaged - roles_of_other_workflows(settings.workflow) - settings.roles.keys()) | set(
        settings.roles.values()
    )
    taken |= {name for name in settings.agents if name in role_set.roles}
    unneeded = roles_of_other_workflows(settings.workflow) - taken - settings.roles.keys()
    roles = {name: role for name, role in apply_role_choices(role_set, settings.roles).items() if name not in unneeded}
    files = {name: _file(role_set.role(name), agreed.root) for name in sorted(taken)}
    agreed.need({file for file in files.values() if file in agreed.what.others})
    return {
        name: role
        for name, role in roles.items()
        if name in taken or name in settings.roles or _file(role, agreed.root) not in agreed.what.others
    }


def _file(role: Role, root: Path) -> str:
    """The role file's path in the repository; empty if it is elsewhere."""
    level, _, path = role.origin.partition(": ")
    return Path(path).relative_to(root).as_posix() if level == "project" else ""
