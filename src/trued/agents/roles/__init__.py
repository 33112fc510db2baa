"""Roles: Markdown files with front matter. If several roles have the same name, the project's wins, then the user's,
then the packaged one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trued.agents.roles.export import is_unchanged
from trued.agents.roles.other_tools import read_other, role_name
from trued.agents.roles.own_format import parse_role
from trued.agents.roles.places import RoleFile, other_files_of_project, other_files_of_user, packaged_files
from trued.errors import BadInput
from trued.model import Role
from trued.support.located import read_text

LEADING = "orchestrator"  # a role for following a workflow without the engine; in a run, the engine leads


@dataclass
class RoleSet:
    """All roles by name, and the errors of role files that cannot be used."""

    roles: dict[str, Role] = field(default_factory=dict)
    packaged: frozenset[str] = frozenset()
    troubles: dict[str, BadInput] = field(default_factory=dict)

    def role(self, name: str) -> Role:
        """The role of this name. Raises BadInput for an unknown name. Raises BadInput also if the role's file is
        broken, even if an overridden role has the same name."""
        if name in self.troubles:
            raise self.troubles[name]
        if name not in self.roles:
            raise BadInput(f"there is no role {name!r}", then=f"known: {', '.join(sorted(self.roles))}")
        return self.roles[name]


def load_roles(project: Path | None, user: Path | None) -> dict[str, Role]:
    """All usable roles by name. Raises BadInput for a broken file in our own format."""
    return find_roles(project, user).roles


def find_roles(
    project: Path | None,
    user: Path | None,
    home: Path | None = None,
    *,
    workflow: Iterable[Path] = (),
    allowed: Callable[[Path], bool] = lambda path: True,
) -> RoleSet:
    """Read the role files of trued, of workflows, of the user and of the project. Raises BadInput for a broken file in
    our own format; broken files of other tools are listed in `troubles`.

    `project` is the repository's folder, `user` the folder of the user's settings, `home` the HOME in which other tools
    keep their files, and `workflow` the role files of workflows. If the project or the user has a role both in our own
    format and in that of another tool, ours is used. `allowed` says whether a file of the project may be read.
    """
    ours = packaged_files()
    packaged = dict(_read_roles(ours, "packaged"))
    for name, role in _read_roles((path for path in workflow if path not in ours), "workflow"):
        if name in packaged:
            raise BadInput(f"role {name} is one of trued's own", role.origin, "rename the workflow's role")
        packaged[name] = role
    role_set = RoleSet(packaged, frozenset(packaged))
    if user is not None:
        own_roles = dict(_folder(user / "roles", "user"))
        _add(role_set, own_roles, other_files_of_user(home, user.parent) if home else (), "user")
    if project is not None:
        own_roles = dict(_folder(project / ".trued" / "roles", "project", inside=project, allowed=allowed))
        _add(
            role_set,
            own_roles,
            (file for file in other_files_of_project(project) if allowed(file.path)),
            "project",
            inside=project,
        )
    return role_set


def apply_role_choices(role_set: RoleSet, chosen: Mapping[str, str]) -> dict[str, Role]:
    """All roles, after the user's replacements. `chosen` maps a role's name to the role that is used under this name
    instead. Raises BadInput for an unknown role."""
    roles = dict(role_set.roles)
    for replaced, name in chosen.items():
        if replaced not in role_set.roles:
            raise BadInput(
                f"there is no role {replaced!r} to replace", then=f"known: {', '.join(sorted(role_set.roles))}"
            )
        roles[replaced] = role_set.role(name).model_copy(update={"name": replaced})
    return roles


def _add(
    role_set: RoleSet, own_roles: dict[str, Role], others: Iterable[RoleFile], level: str, *, inside: Path | None = None
) -> None:
    """Add the roles of one level, such as the project's; they replace roles of the same name that were added before.
    `others` are role files of other tools, which are used only if `own_roles` has no role of the same name. A link that
    leads out of the folder `inside` is an error."""
    level_roles: dict[str, Role] = dict(own_roles)
    broken: dict[str, BadInput] = {}
    for file in others:
        try:
            role = _other(file, level, inside, {**role_set.roles, **level_roles})
        except BadInput as error:
            broken.setdefault(role_name(file.stem), error)
            continue
        if role is None:
            continue
        first = level_roles.get(role.name)
        if first is None:
            level_roles[role.name] = role
        else:
            note = f"{file.path} also defines the role {role.name}, and is not used"
            level_roles[role.name] = first.model_copy(update={"notes": (*first.notes, note)})
    for name in level_roles:
        role_set.troubles.pop(name, None)
    role_set.troubles |= {name: error for name, error in broken.items() if name not in level_roles}
    role_set.roles |= level_roles


def _other(file: RoleFile, level: str, inside: Path | None, below: Mapping[str, Role]) -> Role | None:
    _refuse_outside_link(file.path, inside)
    text = read_text(file.path)
    role = read_other(text, str(file.path), file.stem, file.form).role
    # An unchanged export of a known role adds nothing.
    if role is None or (role.name in (*below, LEADING) and is_unchanged(text)):
        return None
    return role.model_copy(update={"origin": f"{level}: {file.path}"})


def _folder(
    folder: Path, origin: str, inside: Path | None = None, allowed: Callable[[Path], bool] = lambda path: True
) -> Iterator[tuple[str, Role]]:
    paths = sorted(folder.glob("*.md")) if folder.is_dir() else ()
    return _read_roles((path for path in paths if allowed(path)), origin, inside)


def _read_roles(paths: Iterable[Path], origin: str, inside: Path | None = None) -> Iterator[tuple[str, Role]]:
    seen: dict[str, Path] = {}
    for path in paths:
        _refuse_outside_link(path, inside)
        role = parse_role(read_text(path), str(path), path.stem)
        if role.name in seen:
            raise BadInput(f"role {role.name} is also in {seen[role.name].name}", f"{path}:1", "keep one of them")
        seen[role.name] = path
        yield role.name, role.model_copy(update={"origin": origin if origin == "packaged" else f"{origin}: {path}"})


def _refuse_outside_link(path: Path, folder: Path | None) -> None:
    if folder is not None and not path.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{path} is a link that leads out of the repository", then="replace the link by the file")
