"""Decides which imports lead to the project's own modules and files, and not to packages. Does no I/O.

`own_packages.py` decides which entries of manifests lead to the project's own packages.
"""

from collections.abc import Collection
from pathlib import PurePosixPath

from trued.proof.dependencies.source_text import SourceText
from trued.proof.room.frozen_files import is_test
from trued.proof.text.script_aliases import ScriptAliases


class OwnModules:
    """The project's modules that Python would import in preference to a package of the same name, and the names by
    which its scripts import files of the project."""

    def __init__(
        self,
        roots: Collection[str],
        on_base: Collection[str],
        on_commit: Collection[str],
        projects: Collection[str],
        aliases: ScriptAliases,
    ) -> None:
        self._aliases = aliases
        self._roots, self._projects = [*map(PurePosixPath, roots or (".", "src"))], [*map(PurePosixPath, projects)]
        self._paths_on_base, self._paths_on_commit = on_base, on_commit
        self._folders_of_tests = {PurePosixPath(path).parent for path in on_commit if is_test(path)}
        self._distributions = _roots_of_distributions(on_base)
        self._elsewhere = {*self._distributions.values(), *self._projects}
        known = [path for path in on_base if path in on_commit]
        self._modules_elsewhere = _modules_in(self._elsewhere, on_base, known)
        self._modules_by_folders: dict[tuple[frozenset[PurePosixPath], PurePosixPath], frozenset[str]] = {}
        self._modules_on_base: dict[frozenset[PurePosixPath], frozenset[str]] = {}

    def _folders_of(self, path: str) -> tuple[frozenset[PurePosixPath], PurePosixPath]:
        """The folders from which this file can import, and the file's own root. Once the project is installed, the file
        finds no modules in folders above its own root.

        The folders are the import roots, the folders of the distributions and projects that contain the file, and, for
        a test, all folders of tests above the test. The own root is the deepest of these folders that contains the file
        and is no package. It is the top folder if there is no such folder, or if the file is a test.
        """
        above = PurePosixPath(path).parents
        tests = self._folders_of_tests.intersection(above) if path and is_test(path) else ()
        own_folders = [self._distributions[folder] for folder in above if folder in self._distributions]
        own_folders += [
            project
            for project in self._projects
            if project in above or (project.name == "src" and project.parent in above)
        ]
        folders = frozenset({*self._roots, *tests, *own_folders})
        # Once a file in `src` is installed, it does not find modules in folders above `src`.
        above_file = () if not path or is_test(path) else folders.intersection(above)
        roots = [folder for folder in above_file if not self._is_package(folder)]
        own_root = max(roots, key=lambda folder: len(folder.parts), default=PurePosixPath())
        return folders, own_root

    def beside(self, path: str) -> frozenset[str]:
        """The project's top-level modules that this file can import on the commit. Modules of other distributions and
        projects count if the base has them.

        Two sorts of modules do not count: a module that the base lacks, if its folder is above the file's own root (see
        `_folders_of`); and a module that was a file or had an `__init__.py` on the base, and is only a folder without
        `__init__.py` on the commit, because Python prefers an installed package to such a folder.
        """
        folders, own_root = key = self._folders_of(path)
        if key not in self._modules_by_folders:
            known = [file for file in self._paths_on_commit if file in self._paths_on_base]
            modules = self._modules_elsewhere | _modules_in(folders, self._paths_on_base, known)
            modules |= _modules_in(folders.difference(own_root.parents), self._paths_on_base, self._paths_on_commit)
            was, is_now = [_modules_in(folders, (), files) for files in (self._paths_on_base, self._paths_on_commit)]
            self._modules_by_folders[key] = modules - {name for name in was - is_now if not is_test(f"{name}/x.py")}
        return self._modules_by_folders[key]

    def on_base(self, path: str) -> frozenset[str]:
        """The project's top-level modules that this file could import on the base."""
        folders, _ = self._folders_of(path)
        if folders not in self._modules_on_base:
            self._modules_on_base[folders] = _modules_in(
                {*folders, *self._elsewhere}, self._paths_on_base, self._paths_on_base
            )
        return self._modules_on_base[folders]

    def imported_on_base(self, path: str, source: SourceText) -> Collection[str]:
        """The names that led to the project's own code on the base: for a Python file, all modules that it could
        import there, used or not; for a script, only names that it imports."""
        if path.endswith(".py"):
            return self.on_base(path)
        return own_imports(path, source, self._aliases, self._paths_on_base)

    def removed(self, path: str, source: SourceText) -> set[str]:
        """The imports of a file that led to the project's own code on the base, and no longer do so on the commit."""
        own = (
            self.beside(path)
            if path.endswith(".py")
            else own_imports(path, source, self._aliases, self._paths_on_commit)
        )
        return source.imports.intersection(self.imported_on_base(path, source)).difference(own)

    def _is_package(self, folder: PurePosixPath) -> bool:
        return str(folder / "__init__.py") in self._paths_on_base


def own_imports(path: str, source: SourceText, aliases: ScriptAliases, files: Collection[str]) -> set[str]:
    """The imports of a script that look like packages, but always lead to one of these files, because settings define
    short names (`aliases`). Packages in a `node_modules` of the project are left out."""
    return {
        package
        for package, names in source.named.items()
        if all(aliases.leads_inside(path, name, files) for name in names) and not is_vendored(package, files)
    }


def is_vendored(package: str, files: Collection[str]) -> bool:
    """Whether these files have this package in a `node_modules`. Node loads a package from there, whatever the settings
    of tools say."""
    return any(f"node_modules/{package}/" in path for path in files)


def _roots_of_distributions(on_base: Collection[str]) -> dict[PurePosixPath, PurePosixPath]:
    """Folder → folder of its modules, for each Python distribution of the base that is not at the top."""
    manifest_names = ("pyproject.toml", "setup.py", "setup.cfg")
    manifests = [
        PurePosixPath(path) for path in on_base if PurePosixPath(path).name in manifest_names and not is_test(path)
    ]
    folders = {manifest.parent for manifest in manifests if manifest.parent.name}
    folders_with_modules = {
        path.parents[at]
        for path in map(PurePosixPath, on_base)
        if path.suffix == ".py"
        for at in range(len(path.parts))
    }
    return {folder: folder / "src" if folder / "src" in folders_with_modules else folder for folder in folders}


def _modules_in(folders: Collection[PurePosixPath], on_base: Collection[str], files: Collection[str]) -> frozenset[str]:
    """The names of the top-level modules that `files` form in these folders. A file in a folder without `__init__.py`
    counts only if the base has that file, because Python prefers an installed package to such a folder."""
    modules = set()
    for file in map(PurePosixPath, files):
        for folder in {*folders}.intersection(file.parents) if file.suffix in (".py", ".so", ".pyx") else ():
            inside = file.relative_to(folder).parts
            if len(inside) == 1 or inside[1:] == ("__init__.py",) or str(file) in on_base:
                modules.add(inside[0].split(".")[0])
    return frozenset(modules)
