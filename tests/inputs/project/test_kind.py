"""The kind of a project is detected for many small layouts."""

import pytest

from trued.inputs.project.kind import ProjectKind, files_to_read, project_kind, with_user_commands
from trued.model import Commands

PYTEST = "import pytest\n\n\ndef test_it() -> None: ...\n"
PLAIN = "def test_it() -> None: ...\n"
UNITTEST = "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self): ...\n"
PACKAGE = '[project]\nname = "shop"\nversion = "1"\n[build-system]\nrequires = ["hatchling"]\n'
MAIN = 'if __name__ == "__main__":\n    print(1)\n'
NOTHING = ("", "", "")


def node(scripts: str, more: str = "") -> str:
    return f'{{"name": "web", "scripts": {{{scripts}}}{more}}}'


SHAPES: dict[str, tuple[dict[str, str], str, tuple[str, str, str]]] = {
    "nothing at all": ({}, "unknown", NOTHING),
    "words only": ({"README.md": "# Hello"}, "unknown", NOTHING),
    "only a Makefile": (
        {"Makefile": "CC := cc\nbuild: main.c\n\tcc main.c\ntest:\n\t./check\nrun : build\n", "main.c": ""},
        "unknown",
        ("make build", "make test", "make run"),
    ),
    "a Makefile that only assigns": ({"Makefile": "test := 1\nbuild ::= 2\n"}, "unknown", NOTHING),
    # Python
    "a package with uv": (
        {
            "pyproject.toml": PACKAGE + '[dependency-groups]\ndev = ["pytest>=8"]\n',
            "uv.lock": "",
            "src/shop/__init__.py": "",
            "tests/test_a.py": PYTEST,
        },
        "Python",
        ("python3 -m compileall -q src", "uv run pytest", ""),
    ),
    "uv with pytest in an extra": (
        {
            "pyproject.toml": PACKAGE + '[project.optional-dependencies]\ntest = ["pytest"]\n',
            "uv.lock": "",
            "shop/__init__.py": "",
            "shop/__main__.py": "",
            "tests/test_a.py": PLAIN,
        },
        "Python",
        ("python3 -m compileall -q shop", "uv run --extra test pytest", "uv run python -m shop"),
    ),
    "uv whose lock has no pytest": (
        {"pyproject.toml": PACKAGE, "uv.lock": "", "shop/__init__.py": "", "tests/test_a.py": PYTEST},
        "Python",
        ("python3 -m compileall -q shop", "", ""),
    ),
    "a package with one script, by uv": (
        {
            "pyproject.toml": '[project]\nname = "shop"\n[project.scripts]\nshop = "shop:main"\n',
            "uv.lock": "",
            "src/shop/__init__.py": "",
            "bench/__main__.py": "",
        },
        "Python",
        ("python3 -m compileall -q src", "", "uv run shop"),
    ),
    "poetry": (
        {
            "pyproject.toml": '[tool.poetry]\nname = "shop"\n[tool.poetry.group.dev.dependencies]\npytest = "^8"\n',
            "poetry.lock": "",
            "shop/__init__.py": "",
            "tests/test_a.py": PYTEST,
        },
        "Python",
        ("python3 -m compileall -q shop", "poetry run pytest", ""),
    ),
    "pipenv": (
        {"Pipfile": '[dev-packages]\npytest = "*"\n', "Pipfile.lock": "{}", "app.py": MAIN, "test_app.py": PLAIN},
        "Python",
        ("python3 -m compileall -q app.py test_app.py", "pipenv run pytest", "pipenv run python app.py"),
    ),
    "pip with a list": (
        {"requirements.txt": "flask\n", "requirements-dev.txt": "pytest\n", "app.py": MAIN, "tests/test_a.py": ""},
        "Python",
        ("python3 -m compileall -q app.py", "python3 -m pytest", "python3 app.py"),
    ),
    "a plugin of pytest is not pytest": (
        {"requirements.txt": "pytest-cov\n# pytest\n", "app.py": "", "tests/test_a.py": "x = 1\n"},
        "Python",
        ("python3 -m compileall -q app.py", "", ""),
    ),
    "a file that is called like an option": (
        {"-x.py": "", "slug.py": ""},
        "Python",
        ("python3 -m compileall -q ./-x.py slug.py", "", ""),
    ),
    "no manifest, and tests with unittest": (
        {"slug.py": "", "tests/test_slug.py": UNITTEST},
        "Python",
        ("python3 -m compileall -q slug.py", "python3 -m unittest discover -s tests", ""),
    ),
    "tests with unittest in a package of their own": (
        {"slug.py": "", "tests/__init__.py": "", "tests/test_slug.py": UNITTEST},
        "Python",
        ("python3 -m compileall -q slug.py", "python3 -m unittest discover -s tests -t .", ""),
    ),
    "tests with unittest beside the code": (
        {"slug.py": "", "test_slug.py": UNITTEST},
        "Python",
        ("python3 -m compileall -q slug.py test_slug.py", "python3 -m unittest", ""),
    ),
    "tests with unittest under names that it does not look for": (
        {"slug.py": "", "slug_test.py": UNITTEST},
        "Python",
        ("python3 -m compileall -q slug.py slug_test.py", "", ""),
    ),
    "tests without a runner": (
        {"slug.py": "", "tests/test_slug.py": "assert 1 + 1 == 2\n"},
        "Python",
        ("python3 -m compileall -q slug.py", "", ""),
    ),
    "Django": (
        {
            "requirements.txt": "django\n",
            "manage.py": "",
            "shop/__init__.py": "",
            "shop/tests.py": "",
            "shop/test_views.py": "from django.test import TestCase\n",
        },
        "Python",
        ("python3 -m compileall -q shop", "python3 manage.py test", "python3 manage.py runserver"),
    ),
    "two programs are no start": (
        {"requirements.txt": "", "a/__main__.py": "", "b/__main__.py": "", "main.py": "print(1)"},
        "Python",
        ("python3 -m compileall -q main.py", "", ""),
    ),
    "a manifest that cannot be read": (
        {"pyproject.toml": "[project\n", "app.py": ""},
        "Python",
        ("python3 -m compileall -q app.py", "", ""),
    ),
    # Node
    "npm": (
        {"package.json": node('"build": "tsc", "test": "jest", "start": "node ."'), "package-lock.json": "{}"},
        "Node",
        ("npm run build", "npm test", "npm start"),
    ),
    "npm as it comes": (
        {"package.json": node('"test": "echo \\"Error: no test specified\\" && exit 1"', ', "main": "a.js"')},
        "Node",
        NOTHING,
    ),
    "pnpm": (
        {"package.json": node('"test": "vitest", "dev": "vite"'), "pnpm-lock.yaml": ""},
        "Node",
        ("", "pnpm test", "pnpm run dev"),
    ),
    "yarn": (
        {"package.json": node('"test": "jest"'), "yarn.lock": "# yarn lockfile v1\n"},
        "Node",
        ("", "yarn test", ""),
    ),
    "bun runs the project's script, not its own runner": (
        {"package.json": node('"test": "vitest", "start": "vite"'), "bun.lock": ""},
        "Node",
        ("", "bun run test", "bun run start"),
    ),
    "bun's own tests": (
        {"package.json": node(""), "bun.lockb": "", "a.test.ts": 'import { test } from "bun:test"'},
        "Node",
        ("", "bun test", ""),
    ),
    "two locks, and a manager that is named": (
        {
            "package.json": node('"test": "jest"', ', "packageManager": "pnpm@9"'),
            "package-lock.json": "",
            "pnpm-lock.yaml": "",
        },
        "Node",
        ("", "pnpm test", ""),
    ),
    "Node's own tests without a script": (
        {"package.json": node("", ', "type": "module"'), "test/a.js": 'import test from "node:test"'},
        "Node",
        ("", "node --test", ""),
    ),
    "Node's own tests in TypeScript without a script": (
        {"package.json": node(""), "a.test.ts": 'import test from "node:test"'},
        "Node",
        NOTHING,
    ),
    # Go, Rust, Java
    "a program in Go": (
        {"go.mod": "module x\n", "main.go": "package main", "a_test.go": ""},
        "Go",
        ("go build ./...", "go test ./...", "go run ."),
    ),
    "a Go library with one command": (
        {"go.mod": "module x\n", "x.go": "", "cmd/it's/main.go": ""},
        "Go",
        ("go build ./...", "go test ./...", "go run './cmd/it'\"'\"'s'"),
    ),
    "a Go library with two commands": (
        {"go.mod": "module x\n", "cmd/a/main.go": "", "cmd/b/main.go": ""},
        "Go",
        ("go build ./...", "go test ./...", ""),
    ),
    "a Go workspace without a module at its root": (
        {"go.work": "use ./api\n", "api/go.mod": "module x\n"},
        "Go",
        ("(cd api && go build ./...)", "(cd api && go test ./...)", ""),
    ),
    "a program in Rust": (
        {"Cargo.toml": '[package]\nname = "x"\n', "Cargo.lock": "", "src/main.rs": ""},
        "Rust",
        ("cargo build --locked", "cargo test --locked", "cargo run --locked"),
    ),
    "a Rust library": (
        {"Cargo.toml": '[package]\nname = "x"\n', "src/lib.rs": ""},
        "Rust",
        ("cargo build", "cargo test", ""),
    ),
    "a Rust workspace": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/a/Cargo.toml": '[package]\nname = "a"\n',
            "crates/b/Cargo.toml": '[package]\nname = "b"\n',
        },
        "Rust",
        ("cargo build --workspace", "cargo test --workspace", ""),
    ),
    "Maven": (
        {"pom.xml": "<project><modules><module>a</module></modules></project>", "a/pom.xml": "<project/>"},
        "Java",
        ("mvn -B -DskipTests package", "mvn -B test", ""),
    ),
    "Maven by its wrapper": (
        {"pom.xml": "spring-boot-maven-plugin", "mvnw": "", ".mvn/wrapper/maven-wrapper.properties": ""},
        "Java",
        ("sh ./mvnw -B -DskipTests package", "sh ./mvnw -B test", "sh ./mvnw -B spring-boot:run"),
    ),
    "Maven with a wrapper that lacks its half": (
        {"pom.xml": "<project/>", "mvnw": ""},
        "Java",
        ("mvn -B -DskipTests package", "mvn -B test", ""),
    ),
    "Gradle by its wrapper": (
        {
            "build.gradle": "plugins {\n    id 'application'\n}\n",
            "settings.gradle": "",
            "gradlew": "",
            "gradle/wrapper/gradle-wrapper.jar": "",
            "gradle/wrapper/gradle-wrapper.properties": "",
            "app/build.gradle": "",
        },
        "Java",
        ("sh ./gradlew assemble", "sh ./gradlew test", "sh ./gradlew run"),
    ),
    "Gradle in Kotlin without a wrapper": (
        {"build.gradle.kts": 'plugins {\n    id("org.springframework.boot")\n}\n'},
        "Java",
        ("gradle assemble", "gradle test", "gradle bootRun"),
    ),
    # several projects in one repository
    "a back end in Python and a front end in Node": (
        {
            "api/requirements.txt": "pytest\n",
            "api/app.py": MAIN,
            "api/tests/test_a.py": PYTEST,
            "web/package.json": node('"build": "vite build", "test": "vitest"'),
            "web/pnpm-lock.yaml": "",
        },
        "mixed (Python, Node)",
        (
            "(cd api && python3 -m compileall -q app.py) && (cd web && pnpm run build)",
            "(cd api && python3 -m pytest) && (cd web && pnpm test)",
            "(cd api && python3 app.py)",
        ),
    ),
    "two levels down": (
        {"services/api/go.mod": "module x\n", "services/api/main.go": ""},
        "Go",
        ("(cd services/api && go build ./...)", "(cd services/api && go test ./...)", "(cd services/api && go run .)"),
    ),
    "a monorepo with workspaces": (
        {
            "package.json": node('"test": "npm test --workspaces"', ', "workspaces": ["packages/*"]'),
            "package-lock.json": "",
            "packages/a/package.json": node('"test": "jest"'),
            "packages/b/package.json": node('"test": "jest"'),
        },
        "Node",
        ("", "npm test", ""),
    ),
    "too many for one command": (
        {f"s{number}/go.mod": "module x\n" for number in range(5)},
        "Go",
        NOTHING,
    ),
    "a package.json for tools, and loose scripts, beside a module": (
        {
            "go.mod": "module x\n",
            "package.json": node('"lint": "prettier ."', ', "devDependencies": {"prettier": "3"}'),
            "release.py": "",
        },
        "Go",
        ("go build ./...", "go test ./...", ""),
    ),
    "manifests of examples, tests and other people's code": (
        {
            "slug.py": "",
            "examples/go.mod": "",
            "tests/fixtures/Cargo.toml": "",
            "vendor/a/package.json": "{}",
            "third_party/pom.xml": "",
        },
        "Python",
        ("python3 -m compileall -q slug.py", "", ""),
    ),
    "what a language does not know a Makefile may": (
        {"slug.py": "", "tests/test_slug.py": "assert 1\n", "Makefile": "test:\n\tpython tests/test_slug.py\n"},
        "Python",
        ("python3 -m compileall -q slug.py", "make test", ""),
    ),
    "folders whose names could be commands": (
        {"a; rm -rf $HOME/go.mod": "module x\n", "b\n&& evil/go.mod": "module x\n"},
        "Go",
        ("(cd 'a; rm -rf $HOME' && go build ./...)", "(cd 'a; rm -rf $HOME' && go test ./...)", ""),
    ),
}


@pytest.mark.spec("TEAM-13")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kind_of_a_project_is_known_by_its_files(shape: str) -> None:
    files, name, commands = SHAPES[shape]
    kind = project_kind(files, files.get)
    assert (kind.name, (kind.build, kind.test, kind.start)) == (name, commands), kind.why


@pytest.mark.spec("TEAM-13")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_files_that_are_named_to_be_read_are_enough(shape: str) -> None:
    files, *_ = SHAPES[shape]
    wanted = files_to_read(files)
    assert set(wanted) <= set(files)
    assert project_kind(files, {path: files[path] for path in wanted}.get) == project_kind(files, files.get)


@pytest.mark.spec("TEAM-13")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_that_cannot_be_had_breaks_nothing(shape: str) -> None:
    files, *_ = SHAPES[shape]
    assert isinstance(project_kind(files, lambda _: None), ProjectKind)


@pytest.mark.spec("TEAM-15")
def test_of_a_thousand_tests_few_are_read() -> None:
    assert len(files_to_read([f"tests/test_{number}.py" for number in range(1000)])) == 8
    nested = [f"part{number}/inner/test_{each}.py" for number in range(300) for each in range(3)]
    assert len(files_to_read([*nested, "part7/inner/pyproject.toml"])) == 8 + 3 + 1


@pytest.mark.spec("TEAM-13")
def test_every_reason_is_said_and_a_missing_command_says_why() -> None:
    files, *_ = SHAPES["uv whose lock has no pytest"]
    assert project_kind(files, files.get).why == (
        "Python: uv.lock, pyproject.toml",
        "no test command for Python: its tests need pytest, which is not among the dependencies that uv installs",
    )


@pytest.mark.spec("TEAM-13")
def test_what_the_user_says_goes_before_what_was_found() -> None:
    found = ProjectKind(names=("Python",), build="b", test="t", start="s", why=("Python: setup.py",))
    assert with_user_commands(found, Commands()) == found
    own = with_user_commands(found, Commands(test="make check"))
    assert (own.build, own.test, own.start) == ("b", "make check", "s")
    assert own.why == ("Python: setup.py", "test: as [commands] says")
    assert own.commands == {"build": "b", "test": "make check", "start": "s"}
