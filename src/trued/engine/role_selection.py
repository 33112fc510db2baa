"""Casting: which role files a run takes, by whose choice, and whether the user has trusted them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trued.agents.roles import RoleSet, apply_role_choices
from trued.engine.agent_selection import roles_of_other_workflows
from trued.engine.trust import RepositoryFiles, files_to_trust, trusted_files
from trued.errors import Untrusted
from trued.model import Role, Settings


@dataclass(frozen=True, slots=True)
class TrustedFiles:
    """What of a repository the user has agreed to."""

    root: Path
    what: RepositoryFiles
    files: frozenset[str]

    def need(self, names: Iterable[str]) -> None:
        if missing := [name for name in sorted(names) if name not in self.files]:
            raise Untrusted(
                f"{', '.join(missing)} in {self.root} {'is' if len(missing) == 1 else 'are'} not trusted yet",
                then=f"look with `trued trust`, or pass --trust {self.what.digest}",
            )


def check_trust(root: Path, home: Path, given: str) -> TrustedFiles:
    """All that is ours there must be trusted; role files of other tools only where a run takes them."""
    what = files_to_trust(root)
    agreed = TrustedFiles(
        root, what, frozenset(what.files) if given == what.digest else trusted_files(home, root, what)
    )
    agreed.need(set(what.files) - what.others)
    return agreed


def select_roles(shelf: RoleSet, settings: Settings, agreed: TrustedFiles) -> dict[str, Role]:
    """The roles of a run: its workflow's, and what the user named. Others' files come in by the name of such a role of
    ours, or because the user named them."""
    taken = (shelf.packaged - roles_of_other_workflows(settings.workflow) - settings.roles.keys()) | set(
        settings.roles.values()
    )
    taken |= {name for name in settings.agents if name in shelf.roles}
    unneeded = roles_of_other_workflows(settings.workflow) - taken - settings.roles.keys()
    roles = {name: role for name, role in apply_role_choices(shelf, settings.roles).items() if name not in unneeded}
    files = {name: _file(shelf.role(name), agreed.root) for name in sorted(taken)}
    agreed.need({file for file in files.values() if file in agreed.what.others})
    return {
        name: role
        for name, role in roles.items()
        if name in taken or name in settings.roles or _file(role, agreed.root) not in agreed.what.others
    }


def _file(role: Role, root: Path) -> str:
    """Its name in the repository; empty for one from elsewhere."""
    level, _, path = role.origin.partition(": ")
    return Path(path).relative_to(root).as_posix() if level == "project" else ""
