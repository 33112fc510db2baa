"""Detects Go, Rust and Java projects by their manifests, and the commands that build, test and start them."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from trued.inputs.project.manifests import Inside, Project
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import toml_table

GRADLE = ("build.gradle", "build.gradle.kts")
SETTINGS = ("settings.gradle", "settings.gradle.kts")
READ = ("go.mod", "Cargo.toml", "pom.xml", *GRADLE)  # files whose text is needed, not only their presence
LANGUAGES = {"go": "Go", "rust": "Rust", "java": "Java"}
_COMMAND = lazy_regex(r"cmd/[^/]+/main\.go")
_BINARY = lazy_regex(r"src/bin/[^/]+(?:\.rs|/main\.rs)")

_ByFolder: TypeAlias = Mapping[str, set[str]]


def toolchain_projects(by_folder: _ByFolder, inside: Inside) -> Iterator[Project]:
    """The Go, Rust and Java projects, by language. The project in the root comes first among those of its language. If
    one command in the root also builds a project below it, that project is left out."""
    kinds: tuple[Callable[[str, set[str], Inside], Project | None], ...] = (_go, _rust, _maven, _gradle)
    for kind in kinds:
        projects = [
            project for folder, names in by_folder.items() if (project := kind(folder, names, inside)) is not None
        ]
        yield from (
            project
            for project in projects
            if project.folder == "." or not _is_built_by_root(project, by_folder["."], inside)
        )


def _is_built_by_root(project: Project, root: set[str], inside: Inside) -> bool:
    """Whether the root's project also builds this one, so that one command in the root is enough."""
    if project.tool == "cargo":
        return "workspace" in toml_table(inside(".", "Cargo.toml"))
    if project.tool.endswith(("mvn", "mvnw")):
        return "<modules>" in inside(".", "pom.xml")
    return project.tool != "go" and any(name in root for name in SETTINGS)


def _go(folder: str, names: set[str], _: Inside) -> Project | None:
    if "go.mod" not in names:
        return None
    programs = [name.rpartition("/")[0] for name in names if _COMMAND.fullmatch(name)]
    start = "go run ." if "main.go" in names else ""
    if not start and len(programs) == 1:
        start = f"go run {shlex.quote(f'./{programs[0]}')}"
    return _project(folder, "go", "go", ("go.mod",), "go build ./...", "go test ./...", start)


def _rust(folder: str, names: set[str], inside: Inside) -> Project | None:
    if "Cargo.toml" not in names:
        return None
    manifest = toml_table(inside(folder, "Cargo.toml"))
    locked = " --locked" if "Cargo.lock" in names else ""
    whole = " --workspace" if "workspace" in manifest else ""
    programs = sum(1 for name in names if name == "src/main.rs" or _BINARY.fullmatch(name))
    start = f"cargo run{locked}" if programs == 1 and "package" in manifest else ""
    files = tuple(name for name in ("Cargo.toml", "Cargo.lock") if name in names)
    return _project(folder, "rust", "cargo", files, f"cargo build{whole}{locked}", f"cargo test{whole}{locked}", start)


def _maven(folder: str, names: set[str], inside: Inside) -> Project | None:
    if "pom.xml" not in names:
        return None
    wrapped = {"mvnw", ".mvn/wrapper/maven-wrapper.properties"} <= names
    tool = "sh ./mvnw" if wrapped else "mvn"  # with `sh`, because the wrapper's executable bit may be lost
    start = f"{tool} -B spring-boot:run" if "spring-boot-maven-plugin" in inside(folder, "pom.xml") else ""
    files = ("pom.xml", *(("mvnw",) if wrapped else ()))
    return _project(folder, "java", tool, files, f"{tool} -B -DskipTests package", f"{tool} -B test", start)


def _gradle(folder: str, names: set[str], inside: Inside) -> Project | None:
    build_files = [name for name in GRADLE if name in names]
    if not build_files and not any(name in names for name in SETTINGS):
        return None
    if "pom.xml" in names:
        return None  # Maven is preferred: its build does not depend on the installed version of Gradle
    wrapped = {"gradlew", "gradle/wrapper/gradle-wrapper.jar", "gradle/wrapper/gradle-wrapper.properties"} <= names
    tool = "sh ./gradlew" if wrapped else "gradle"
    plugins = "\n".join(inside(folder, name) for name in build_files)
    begin = "bootRun" if "org.springframework.boot" in plugins else "run" if _is_application(plugins) else ""
    files = (*(build_files or [name for name in SETTINGS if name in names]), *(("gradlew",) if wrapped else ()))
    start = f"{tool} {begin}" if begin else ""
    return _project(folder, "java", tool, files, f"{tool} assemble", f"{tool} test", start)


def _is_application(plugins: str) -> bool:
    return bool(
        re.search(r"^\s*(?:id\s*\(?\s*['\"]application['\"]|application\b|`application`)", plugins, re.MULTILINE)
    )


def _project(folder: str, language: str, tool: str, files: tuple[str, ...], *commands: str) -> Project:
    bare = Project(folder, language, tool, files, ())
    build, test, start = (bare.within(command) if command else "" for command in commands)
    return Project(folder, language, tool, files, (), test, start, build)
