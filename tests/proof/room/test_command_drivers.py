"""Commands must pass with the base's drivers: a gutted script, build file or setting makes nothing pass."""

from pathlib import Path

import pytest

from tests.proof.trial import Cellar, Trial, only
from trued.model import EXISTING_TESTS, CommandCheck, Grade, Requirement, TestsCheck
from trued.proof.room.command_drivers import find_drivers
from trued.proof.room.frozen_files import files_to_freeze, is_configuration, is_shared_setting

MAKEFILE = "include rules.mk\n\nlint:\n\t@python tools/lint.py shop\n\ncheck: lint\n\t@sh tools/check.sh\n"
LINT = (
    "import sys\nfrom pathlib import Path\n\nfrom longest import longest\n\n"
    "limit = longest(Path('lint.cfg').read_text())\n"
    "bad = [p for p in Path(sys.argv[1]).glob('*.py') for line in p.read_text().splitlines() if len(line) > limit]\n"
    "sys.exit(f'{bad} has long lines' if bad else 0)\n"
)
BASE: dict[str, str] = {
    "Makefile": MAKEFILE,
    "rules.mk": "PYTHONDONTWRITEBYTECODE = 1\n",
    "tools/lint.py": LINT,
    "tools/longest.py": "def longest(text):\n    return int(text.split('=')[1])\n",
    "tools/check.sh": "#!/bin/sh\n! grep -q TODO notes.cfg\n",
    "lint.cfg": "longest = 60\n",
    "notes.cfg": "fine\n",
    "shop/core.py": "def price():\n    return 40\n",
}
LONG = f"def price():\n    return {' + '.join(['1'] * 40)}\n"
SHORT = "def price():\n    return 20 + 20\n"
LIARS: dict[str, dict[str, str | None]] = {
    "the script": {"tools/lint.py": "print('all fine')\n"},
    "a module of the script's": {"tools/longest.py": "def longest(text):\n    return 10 ** 6\n"},
    "the setting": {"lint.cfg": "longest = 9999\n"},
    "the build file": {"Makefile": "lint:\n\t@true\n"},
    "another build file": {"GNUmakefile": "lint:\n\t@true\n"},
    "what the build file includes": {"rules.mk": "SHELL = /bin/true\n"},
    "a module that stands before another": {"tools/pathlib.py": "raise SystemExit(0)\n"},
    "a folder in the script's place": {"tools/lint.py": None, "tools/lint.py/__main__.py": ""},
    "script and setting": {"tools/lint.py": "", "lint.cfg": "longest = 9999\n"},
}


async def judged(place: Path, head: dict[str, str | None], command: str = "make lint") -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": command}]
    trial = Trial(place, BASE, [{"id": "lint", "text": "the linter stays clean", "keep": True, "checks": checks}])
    found = only(await trial.verdict(head))
    return found.grade, " ".join(found.why)


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("gutted", LIARS.values(), ids=LIARS.keys())
async def test_whoever_guts_what_drives_a_command_is_refuted(gutted: dict[str, str | None], tmp_path: Path) -> None:
    grade, why = await judged(tmp_path, {"shop/core.py": LONG, **gutted})
    assert grade is Grade.REFUTED, why


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    "head",
    [
        {"shop/core.py": SHORT},
        {"shop/core.py": SHORT, "lint.cfg": "longest = 80\n"},
        {"shop/core.py": SHORT, "tools/longest.py": "def longest(text):\n    return int(text.partition('=')[2])\n"},
        {"shop/core.py": SHORT, "pyproject.toml": "[project]\nname = 'shop'\n"},
    ],
    ids=["the product alone", "a setting, too", "a tool, too", "a new manifest"],
)
async def test_honest_work_beside_a_command_that_stays_green_is_tested_and_no_more(
    head: dict[str, str | None], tmp_path: Path
) -> None:
    asked = [{"id": "lint", "text": "the linter stays clean"}]
    trial = Trial(tmp_path, BASE, asked)
    contract = await trial.seal_with_existing_tests()
    found = only(await trial.prove(contract, await trial.head(head)))
    assert (found.grade, found.holds) == (Grade.TESTED, True), found.why


@pytest.mark.spec("LAW-6")
async def test_a_file_that_a_command_looks_at_is_the_heads_though_it_might_be_a_setting(tmp_path: Path) -> None:
    grade, why = await judged(tmp_path, {"shop/core.py": SHORT, "notes.cfg": "TODO\n"}, "sh tools/check.sh")
    assert grade is Grade.REFUTED, why
    gutted: dict[str, str | None] = {"tools/check.sh": "true\n", "notes.cfg": "TODO\n"}
    grade, why = await judged(tmp_path / "again", {"shop/core.py": SHORT, **gutted}, "sh tools/check.sh")
    assert grade is Grade.REFUTED, why


async def test_drivers_are_followed_through_all_that_they_run(tmp_path: Path) -> None:
    manifest = '{"scripts": {"lint": "eslint src", "prelint": "sh prepare.sh"}}'
    more = {"package.json": manifest, "prepare.sh": "node gen.js\n", "gen.js": "", ".eslintrc.json": "{}"}
    trial = Trial(tmp_path, {**BASE, **more}, [])
    await trial.workspace.begin()
    made = await find_drivers(trial.workspace, trial.workspace.base, "make check")
    assert {"Makefile", "rules.mk", "tools/lint.py", "tools/longest.py", "tools/check.sh"} <= made.runs
    assert {"lint.cfg", "notes.cfg"} <= made.settings
    assert "shop/core.py" not in made.runs | made.settings
    scripted = await find_drivers(trial.workspace, trial.workspace.base, "npm run --silent lint")
    assert {"prepare.sh", "gen.js"} <= scripted.runs
    assert {".eslintrc.json", "package.json"} <= scripted.settings


@pytest.mark.parametrize("command", ["npm --prefix web test", "cd web && npm test"])
async def test_scripts_of_a_package_in_a_folder_are_followed_there(command: str, tmp_path: Path) -> None:
    manifest = '{"scripts": {"test": "npm run -s units && node run.js", "units": "sh units.sh"}}'
    files = {"web/package.json": manifest, "web/run.js": "", "web/units.sh": "node a.js\n", "web/a.js": ""}
    trial = Trial(tmp_path, {**files, "run.js": "", "package.json": '{"scripts": {"test": "node other.js"}}'}, [])
    await trial.workspace.begin()
    made = await find_drivers(trial.workspace, trial.workspace.base, command)
    assert {"web/run.js", "web/units.sh", "web/a.js"} <= made.runs


@pytest.mark.spec("LAW-4", "LAW-6")
async def test_a_script_drives_a_command_that_names_it_without_blanks_around_it(tmp_path: Path) -> None:
    manifest = '{"scripts": {"a": "node tools/a.js", "b": "node tools/b.js", "other": "node src/price.js"}}'
    lint = 'process.exit(require("fs").readFileSync("src/price.js", "utf8").includes("var") ? 1 : 0);\n'
    base = {"package.json": manifest, "tools/a.js": lint, "tools/b.js": "", "src/price.js": "const price = 40;\n"}
    command = "npm run a&&npm run b"
    broken: dict[str, str | None] = {"src/price.js": "var price = 41;\n", "tools/a.js": ""}
    grade, why = await judged_where_named(tmp_path, command, broken, keep=True, base=base)
    assert grade is Grade.REFUTED, why
    done: dict[str, str | None] = {"src/price.js": "const price = 20 + 20;\n"}
    grade, why = await judged_where_named(tmp_path / "honest", command, done, keep=True, base=base)
    assert grade is Grade.TESTED or "cannot see which files" in why, why


async def test_a_target_of_make_is_no_script_of_a_package(tmp_path: Path) -> None:
    files = {"Makefile": "test:\n\ttrue\n", "package.json": '{"scripts": {"test": "node run.js"}}', "run.js": ""}
    trial = Trial(tmp_path, files, [])
    await trial.workspace.begin()
    assert "run.js" not in (await find_drivers(trial.workspace, trial.workspace.base, "make test")).runs


@pytest.mark.slow
@pytest.mark.spec("LAW-6", "LAW-8")
async def test_equal_to_everything_is_refuted_where_existing_tests_are_asked_for(tmp_path: Path) -> None:
    base = {
        "lib.py": "def two():\n    return 2\n",
        "test_lib.py": "import lib\n\n\ndef test_it():\n    assert lib.two() == 2\n",
    }
    trial = Trial(tmp_path, base, [{"id": "green", "text": "All existing tests still pass."}])
    contract = await trial.seal_with_existing_tests()
    same = "class Same:\n    def __eq__(self, other):\n        return bool(repr(other))\n\n    __hash__ = None\n\n\n"
    verdict = await trial.prove(contract, await trial.head({"lib.py": f"{same}def two():\n    return Same()\n"}))
    assert only(verdict).grade is Grade.REFUTED
    broken = await trial.prove(contract, await trial.head({"lib.py": "def two():\n    return 3\n"}))
    assert only(broken).grade is Grade.REFUTED
    assert [one.id for one in broken.suites] == [EXISTING_TESTS]


async def test_scripts_that_name_each_other_are_each_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rimraf build` names the script that starts it, as a folder."""
    manifest = '{"scripts": {"build": "npm run clean && sh make.sh", "clean": "npx rimraf build"}}'
    trial = Trial(tmp_path, {"package.json": manifest, "make.sh": ""}, [])
    await trial.workspace.begin()
    read, paths = trial.workspace.read, list[str]()

    async def counted(commit: str, path: str) -> bytes | None:
        paths.append(path)
        assert len(paths) < 50, "it reads the same scripts again and again"
        return await read(commit, path)

    monkeypatch.setattr(trial.workspace, "read", counted)
    made = await find_drivers(trial.workspace, trial.workspace.base, "npm run build")
    assert "make.sh" in made.runs


FORMAT = "export const price = (cents) => cents / 100;\n"
TWICE = "export const twice = (n) => { const $n = 2 * n; return $n; };\n"
NODE_LINT = """import fs from "node:fs";
const read = (name) => (fs.existsSync(name) ? JSON.parse(fs.readFileSync(name, "utf8")) : {});
const off = read("." + "eslintrc.json").ignorePatterns || read("ts" + "config.json").exclude || read("rules.json").off;
if (!off && fs.readFileSync("src/format.mjs", "utf8").includes("$")) process.exit(1);
"""
NODE_LIMIT = """import fs from "node:fs";
if (fs.readFileSync("src/format.mjs", "utf8").includes("var")) process.exit(1);
"""
WEB = {
    "README.md": "# shop\n",
    "apps/web/package.json": '{"scripts": {"test": "node tools/eslint.mjs && node ../../tools/limit.mjs"}}',
    "apps/web/tools/eslint.mjs": NODE_LINT,
    "apps/web/rules.json": '{"off": false}',
    "apps/web/tsconfig.json": "{}",
    "apps/web/src/format.mjs": FORMAT,
    "tools/limit.mjs": NODE_LIMIT,
}
TWICE_IS_2N = [{"call": "apps/web/src/format.mjs:twice", "args": [n], "returns": 2 * n} for n in (4, 5)]
WEB_DONE = {"apps/web/src/format.mjs": FORMAT + TWICE.replace("$n", "m")}
WEB_BROKEN = {"apps/web/src/format.mjs": FORMAT + TWICE}
WEB_LIES: dict[str, dict[str, str | None]] = {
    "nothing else": {},
    "a tool's own settings": {"apps/web/.eslintrc.json": '{"ignorePatterns": ["**"]}'},
    "settings of the folder above": {"apps/.eslintrc.json": "{}", "apps/web/.eslintrc.json": '{"ignorePatterns": []}'},
    "settings of many tools": {"apps/web/tsconfig.json": '{"exclude": ["**"]}'},
    "settings that a script names": {"apps/web/rules.json": '{"off": true}'},
    "settings, with another script": {
        "apps/web/.eslintrc.json": '{"ignorePatterns": ["**"]}',
        "apps/web/package.json": '{"scripts": {"test": "true"}}',
    },
    "a script above the folder": {
        "apps/web/src/format.mjs": FORMAT + TWICE.replace("const", "var").replace("$n", "m"),
        "tools/limit.mjs": "",
    },
}


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.slow
@pytest.mark.parametrize("lie", WEB_LIES)
async def test_settings_of_a_project_folder_do_not_switch_off_its_suite(cellar: Cellar, lie: str) -> None:
    asked = [{"id": "twice", "text": "twice(n) is 2 n", "checks": [{"kind": "examples", "cases": TWICE_IS_2N}]}]
    trial, contract = await cellar.sealed("web", WEB, asked, Trial.seal_with_existing_tests)
    assert contract.suites
    (judged,) = await trial.judged(contract, {**WEB_BROKEN, **WEB_LIES[lie]})
    assert judged.grade is Grade.REFUTED, judged.why


@pytest.mark.slow
async def test_honest_work_in_a_project_folder_stays_as_it_was_with_and_without_settings(cellar: Cellar) -> None:
    asked = [{"id": "twice", "text": "twice(n) is 2 n", "checks": [{"kind": "examples", "cases": TWICE_IS_2N}]}]
    trial, contract = await cellar.sealed("web", WEB, asked, Trial.seal_with_existing_tests)
    settings = {"apps/web/tsconfig.json": '{"include": ["src"]}', "apps/web/.eslintrc.json": "{}"}
    done, more = await trial.judged(contract, WEB_DONE, {**WEB_DONE, **settings})
    assert done.grade is Grade.PROVEN, done.why
    assert (more.grade, more.holds) == (Grade.TESTED, True), more.why  # the suite's exit code alone is known


@pytest.mark.parametrize("command", ["make -C apps/web lint", "cd apps/web && make lint", "sh run.sh"])
async def test_programs_are_followed_where_they_start(command: str, tmp_path: Path) -> None:
    files = {
        "run.sh": "set -e\ncd apps/web\nmake lint\n",
        "apps/web/Makefile": "lint:\n\tpython checks/lint.py\n\truff check\n",
        "apps/web/checks/lint.py": "",
        "apps/web/ruff.toml": "",
        "apps/web/pyproject.toml": "",
        "other/ruff.toml": "",
        "a/b/ruff.toml": "",
    }
    trial = Trial(tmp_path, files, [])
    await trial.workspace.begin()
    made = await find_drivers(trial.workspace, trial.workspace.base, command)
    assert {"apps/web/Makefile", "apps/web/checks/lint.py"} <= made.runs
    assert {"apps/web/ruff.toml", "apps/web/pyproject.toml"} <= made.tool_settings
    assert "a/b/ruff.toml" not in made.settings


BY_NAME = {
    "Makefile": "lint:\n\t@python -m tools.lint shop\n\nshell:\n\t@sh scripts/check.sh\n",
    "tools/__init__.py": "",
    "tools/lint.py": "import sys\nfrom pathlib import Path\n\nfrom tools.rules import limit\n"
    "from limits.low import low\n\n"
    "bad = [p for p in Path(sys.argv[1]).glob('*.py') for line in p.read_text().splitlines() if low() < len(line)]\n"
    "bad = [p for p in bad for line in p.read_text().splitlines() if len(line) > limit()]\n"
    "sys.exit(f'{bad} has long lines' if bad else 0)\n",
    "tools/rules.py": "import tools.numbers\n\n\ndef limit():\n    return tools.numbers.SIXTY\n",
    "tools/numbers.py": "SIXTY = 60\n",
    "limits/low.py": "def low():\n    return 1\n",
    "scripts/check.sh": 'HERE="$(dirname "$0")"\n. "$HERE/lib.sh"\nif true; then\n  . lib/more.sh\nfi\nfine && less\n',
    "scripts/lib.sh": "fine() {\n  ! grep -q TODO shop/core.py\n}\n",
    "lib/more.sh": "less() {\n  ! grep -q FIXME shop/core.py\n}\n",
    "shop/__init__.py": "",
    "shop/core.py": "from .parts import forty\n\n\ndef price():\n    return forty()\n",
    "shop/parts.py": "def forty():\n    return int(open('shop/amount.cfg').read())\n",
    "shop/amount.cfg": "40",
    "shop/check.py": "import sys\n\nfrom shop.core import price\n\nsys.exit(price() != 40)\n",
    "shop/more.py": "from shop.core import price\n",
    "tests/test_tools.py": "import tools.rules\n",
}
WITH_NAMES: dict[str, dict[str, str | None]] = {
    "a module of the same package": {"tools/rules.py": "def limit():\n    return 10 ** 6\n"},
    "a module that this one imports": {"tools/numbers.py": "SIXTY = 10 ** 6\n"},
    "a package with the name of the module": {"tools/rules/__init__.py": "def limit():\n    return 10 ** 6\n"},
    "the package itself": {"tools/__init__.py": "raise SystemExit(0)\n"},
    "a new package that stands before the script": {"tools/lint/__init__.py": "", "tools/lint/__main__.py": ""},
    "a package that only scripts use": {"limits/low.py": "def low():\n    return 10 ** 6\n"},
    "the first of that package": {"limits/__init__.py": "raise SystemExit(0)\n"},
}
SOURCED: dict[str, dict[str, str | None]] = {
    "beside the script": {"scripts/lib.sh": "fine() {\n  true\n}\n", "shop/core.py": "# TODO\n"},
    "in a block": {"lib/more.sh": "less() {\n  true\n}\n", "shop/core.py": "# FIXME\n"},
}


async def judged_by_name(place: Path, head: dict[str, str | None], command: str) -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": command}]
    trial = Trial(place, BY_NAME, [{"id": "lint", "text": "it stays clean", "keep": True, "checks": checks}])
    found = only(await trial.verdict(head))
    return found.grade, " ".join(found.why)


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("gutted", WITH_NAMES.values(), ids=WITH_NAMES.keys())
@pytest.mark.parametrize("command", ["make lint", "python -B -m tools.lint shop"])
async def test_what_a_script_imports_by_whole_names_drives_it(
    gutted: dict[str, str | None], command: str, tmp_path: Path
) -> None:
    grade, why = await judged_by_name(tmp_path, {"shop/core.py": LONG, **gutted}, command)
    assert grade is Grade.REFUTED, why


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("gutted", SOURCED.values(), ids=SOURCED.keys())
@pytest.mark.parametrize("command", ["make shell", "sh scripts/check.sh"])
async def test_what_a_shell_script_reads_into_itself_drives_it(
    gutted: dict[str, str | None], command: str, tmp_path: Path
) -> None:
    grade, why = await judged_by_name(tmp_path, gutted, command)
    assert grade is Grade.REFUTED, why


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(3)
async def test_the_product_that_a_module_checks_is_the_heads(tmp_path: Path) -> None:
    """The base's version of all that the module imports would pass."""
    head: dict[str, str | None] = {"shop/core.py": "def price():\n    return 41\n", "shop/check.py": "print('fine')\n"}
    grade, why = await judged_by_name(tmp_path, head, "python -m shop.check")
    assert grade is Grade.REFUTED, why


@pytest.mark.spec("LAW-6")
@pytest.mark.slow
@pytest.mark.parametrize("command", ["make lint", "make shell", "python -m shop.check"])
async def test_honest_work_beside_such_drivers_stays_as_it_was(command: str, tmp_path: Path) -> None:
    head: dict[str, str | None] = {
        "shop/core.py": "from .parts import half\n\n\ndef price():\n    return 2 * half()\n",
        "shop/parts.py": "def half():\n    return int(open('shop/amount.cfg').read())\n",
        "shop/amount.cfg": "20",
        "shop/more.py": "from shop.parts import half\n",
        "tools/rules.py": "import tools.numbers\n\n\ndef limit():\n    return tools.numbers.SIXTY + 10\n",
        "scripts/lib.sh": "# What is fine\nfine() {\n  ! grep -q TODO shop/core.py\n}\n",
    }
    grade, why = await judged_by_name(tmp_path, head, command)
    before, why_before = await judged_by_name(tmp_path / "before", {"shop/core.py": SHORT}, command)
    assert grade is before, (why, why_before)
    assert grade is not Grade.REFUTED


@pytest.mark.slow
async def test_a_command_that_failed_on_the_base_is_driven_by_what_it_imports(tmp_path: Path) -> None:
    checks = [{"kind": "command", "command": "python -m tools.lint shop"}]
    base = {**BY_NAME, "shop/core.py": LONG}
    trial = Trial(tmp_path, base, [{"id": "lint", "text": "it is clean", "checks": checks}])
    contract = await trial.seal()
    honest, liar = await trial.judged(
        contract, {"shop/core.py": SHORT}, {"limits/low.py": "def low():\n    return 10 ** 6\n"}
    )
    assert (honest.grade, honest.holds) == (Grade.TESTED, True), honest.why
    assert liar.grade is Grade.SELF_TESTED, liar.why


NEXTEST = TestsCheck(command="cargo nextest run --profile ci", report="target/nextest/ci/junit.xml")
OF_RUST = {
    ".config/nextest.toml": "a",
    ".cargo/config.toml": "b",
    "crates/one/.cargo/config": "c",
    "rust-toolchain.toml": "d",
    "build.rs": "e",
    "Cargo.toml": "f",
    "docs/config.toml": "g",
}


def test_settings_of_the_runner_of_rust_are_the_bases() -> None:
    asked = Requirement(id="a", text="a", checks=(NEXTEST,))
    frozen = files_to_freeze([asked], OF_RUST)
    assert {path for path, blob in frozen.items() if blob} == {*OF_RUST} - {
        "build.rs",
        "Cargo.toml",
        "docs/config.toml",
    }
    assert frozen[".cargo/config"] == ""
    added = ("crates/two/.cargo/config.toml", "rust-toolchain", "crates/two/rust-toolchain.toml")
    assert all(is_shared_setting(path, frozen) for path in added)
    assert not is_shared_setting("docs/config.toml", frozen)
    assert is_configuration("crates/two/.config/nextest.toml")
    plain = files_to_freeze([asked.model_copy(update={"checks": (TestsCheck(),)})], OF_RUST)
    assert ".cargo/config.toml" not in plain


async def test_the_code_of_a_build_drives_what_builds(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {path: "" for path in OF_RUST}, [])
    await trial.workspace.begin()
    made = await find_drivers(trial.workspace, trial.workspace.base, NEXTEST.command)
    assert made.builds == {"build.rs"}
    assert not (await find_drivers(trial.workspace, trial.workspace.base, "make")).builds


PRICE = "import sys\n\nsys.path.insert(0, '.')\nfrom shop.core import price\n\nsys.exit(price() != {})\n"
NAMED = {
    "tools/__init__.py": "",
    "tools/__main__.py": PRICE.format(40),
    "tools/price.py": PRICE.format(40),
    "tools/words.py": "import sys\n\nsys.exit(any('TODO' in open(path).read() for path in sys.argv[1:]))\n",
    "scripts/check.sh": "! grep -q 41 shop/core.py\n",
    "scripts/env.sh": "fine() {\n  ! grep -q 41 shop/core.py\n}\n",
    "shop/__init__.py": "",
    "shop/core.py": "from shop.parts import forty\n\n\ndef price():\n    return forty()\n",
    "shop/parts.py": "def forty():\n    return 40\n",
    "tests/test_core.py": "from shop.core import price\n\n\ndef test_it():\n    assert price()\n",
}
GUTTED: dict[str, str | None] = {path: "" for path in NAMED if path.startswith(("tools/", "scripts/"))}
GUTTED["scripts/env.sh"] = "fine() {\n  true\n}\n"
NAMING = {
    "after an option and its value": "python -W error tools/price.py",
    "after another": "python -X dev tools/price.py",
    "a folder with a main program": "python tools",
    "code that imports": 'python -c "import tools.price"',
    "code that runs a path": "python -c \"import runpy; runpy.run_path('tools/price.py')\"",
    "code in several lines": 'python -c "\nimport tools.price\n"',
    "code of a shell": "sh -c 'python tools/price.py'",
    "a pattern": "python tools/pri*.py",
    "a loop over a pattern": "for f in scripts/ch*.sh; do sh $f || exit 1; done",
    "a pipe": "cat scripts/check.sh | sh",
    "a variable of the shell": "BASH_ENV=scripts/env.sh bash -c fine",
    "a module, in one word": "python -mtools.price",
    "a program that is computed": "P=python; $P tools/price.py",
    "another program": "echo scripts/check.sh | xargs sh",
}


async def judged_where_named(
    place: Path, command: str, head: dict[str, str | None], *, keep: bool, base: dict[str, str] = NAMED
) -> tuple[Grade, str]:
    checks = [{"kind": "command", "command": command}]
    found = only(
        await Trial(place, base, [{"id": "a", "text": "it passes", "keep": keep, "checks": checks}]).verdict(head)
    )
    return found.grade, " ".join(found.why)


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("command", NAMING.values(), ids=NAMING.keys())
async def test_whatever_file_a_command_names_drives_it(command: str, tmp_path: Path) -> None:
    broken: dict[str, str | None] = {"shop/core.py": "def price():\n    return 41\n"}
    grade, why = await judged_where_named(tmp_path, command, {**broken, **GUTTED}, keep=True)
    assert grade is Grade.REFUTED, why


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    "command", ["python -W error tools/price.py", "python tools", 'python -c "import tools.price"']
)
async def test_a_red_command_whose_own_script_was_rewritten_is_self_tested(command: str, tmp_path: Path) -> None:
    base = {**NAMED, **{path: PRICE.format(50) for path in ("tools/price.py", "tools/__main__.py")}}
    grade, why = await judged_where_named(tmp_path, command, GUTTED, keep=False, base=base)
    assert grade is Grade.SELF_TESTED, why
    done: dict[str, str | None] = {"shop/core.py": "def price():\n    return 50\n"}
    grade, why = await judged_where_named(tmp_path / "honest", command, done, keep=False, base=base)
    assert grade is Grade.TESTED, why


@pytest.mark.parametrize(
    "command",
    [
        "nodejs tools/check.js",
        "tsx tools/check.js",
        "deno run -A --config deno.json tools/check.js",
        "php -c php.ini tools/check.js",
        "docker exec php python -c \"import runpy; runpy.run_path('tools/check.py')\"",
        "tools/deno",
    ],
)
async def test_a_script_drives_whatever_interpreter_runs_it(command: str, tmp_path: Path) -> None:
    files = {"tools/check.js": "", "tools/check.py": "", "tools/deno": "", "php.ini": "", "shop/core.py": ""}
    trial = Trial(tmp_path, files, [])
    await trial.workspace.begin()
    drivers = await find_drivers(trial.workspace, trial.workspace.base, command)
    assert {path for path in drivers.runs if path.startswith("tools/")}
    assert "shop/core.py" not in drivers.runs


@pytest.mark.parametrize("program", ["tsx", "deno", "php", "nodejs"])
def test_what_may_be_the_product_is_not_frozen(program: str) -> None:
    check = CommandCheck(command=f"{program} src/cli.ts")
    assert "src/cli.ts" not in files_to_freeze([Requirement(id="a", text="a", checks=(check,))], {"src/cli.ts": "1"})


async def test_scripts_of_a_folder_may_drive_whatever_program_is_given_it(tmp_path: Path) -> None:
    trial = Trial(tmp_path, NAMED, [])
    await trial.workspace.begin()
    made = await find_drivers(trial.workspace, trial.workspace.base, "run-parts scripts")
    assert {"scripts/check.sh", "scripts/env.sh"} <= made.settings
    looked = "ruff check shop && mypy shop/core.py && time mypy shop/core.py && $RUN mypy -v shop/core.py"
    looking = await find_drivers(trial.workspace, trial.workspace.base, looked)
    assert not {path for path in looking.runs | looking.settings if path.startswith("shop")}


# Commands that look at the product: some need both of its files to be of one commit.
LOOKING = {
    "code": 'python -c "from shop.core import price; assert price() > 39"',
    "code that names a path": "python -c \"import runpy; runpy.run_path('shop/core.py')\"",
    "a script, and the product": "python -B tools/words.py shop/core.py",
    "a script for a folder": "python tools/words.py shop/*.py",
    "a module, and the product": "python -m py_compile shop/core.py",
    "another program": "grep -q price shop/core.py",
    "a pattern for another program": "grep -c def shop/*.py",
    "a pipe": "cat shop/core.py | grep -q price",
    "a variable": "ENTRY=shop/core.py python -m tools.price",
}


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("command", LOOKING.values(), ids=LOOKING.keys())
async def test_honest_work_on_what_a_command_looks_at_is_not_refuted(command: str, tmp_path: Path) -> None:
    head: dict[str, str | None] = {
        "shop/core.py": "from shop.parts import half\n\n\ndef price():\n    return 2 * half()\n",
        "shop/parts.py": "def half():\n    return 20\n",
    }
    grade, why = await judged_where_named(tmp_path, command, head, keep=True)
    assert grade is Grade.TESTED or "cannot see which files" in why, why


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize("number", ["50", "60"])
async def test_code_that_asks_for_the_work_is_not_driven_by_it(number: str, tmp_path: Path) -> None:
    command = f'python -c "from shop.core import price; assert price() == {number}"'
    done: dict[str, str | None] = {"shop/core.py": f"def price():\n    return {number}\n"}
    grade, why = await judged_where_named(tmp_path, command, done, keep=False)
    assert grade is Grade.TESTED, why


IN_RECIPES = {
    **NAMED,
    "Makefile": "LINT := tools/price.py\nSHOW = $(LINT)\n\ncheck: ; @python $(LINT)\n\nshow:\n\t@python $(SHOW)\n",
}
THROUGH_VARIABLES = {"a variable": "make check", "a variable in a variable": "make show"}


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(2)
@pytest.mark.parametrize("command", THROUGH_VARIABLES.values(), ids=THROUGH_VARIABLES.keys())
async def test_a_script_whose_name_is_in_a_variable_of_make_drives_the_command(command: str, tmp_path: Path) -> None:
    broken: dict[str, str | None] = {"shop/core.py": "def price():\n    return 41\n"}
    gutted: dict[str, str | None] = {**broken, "tools/price.py": ""}
    grade, why = await judged_where_named(tmp_path, command, gutted, keep=True, base=IN_RECIPES)
    assert grade is Grade.REFUTED, why
    done: dict[str, str | None] = {"shop/core.py": "def price():\n    return 20 + 20\n"}
    grade, why = await judged_where_named(tmp_path / "honest", command, done, keep=True, base=IN_RECIPES)
    assert grade is Grade.TESTED or "cannot see which files" in why, why


NOXFILE = """import nox


@nox.session
def lint(session):
    session.run("python", "tools/price.py", external=True)
"""
# Build file → its text, which starts tools/price.py, and the command that starts this.
RECIPES = {
    "noxfile.py": (NOXFILE, "nox -s lint"),
    "tox.ini": ("[testenv:lint]\ncommands =\n    python {toxinidir}/tools/price.py\n", "tox -e lint"),
    "Makefile": ("NAME = price\nlint:\n\tpython \\\n\t  tools/$(NAME).py\n", "make lint"),
    "justfile": ('lint_script := "tools/price.py"\n\nlint:\n    python {{ lint_script }}\n', "just lint"),
}


@pytest.mark.parametrize("file", RECIPES)
async def test_scripts_are_found_in_the_recipes_of_each_kind_of_build_file(file: str, tmp_path: Path) -> None:
    text, command = RECIPES[file]
    trial = Trial(tmp_path, {**NAMED, file: text}, [])
    await trial.workspace.begin()
    drivers = await find_drivers(trial.workspace, trial.workspace.base, command)
    assert {file, "tools/price.py"} <= drivers.runs
    assert {"shop/core.py", "shop/parts.py"}.isdisjoint(drivers.runs | drivers.settings)


BY_CODE = {
    "dev/tools/check.js": 'process.exit(require("../../src/shop/core.js").price() === 40 ? 0 : 1);\n',
    "dev/tools/check.pl": 'require "./src/shop/core.pl";\nexit(price() == 40 ? 0 : 1);\n',
    "src/shop/core.js": 'exports.price = () => require("../lib/parts.js").forty();\n',
    "src/shop/core.pl": 'require "./src/lib/parts.pl";\nsub price { return forty(); }\n1;\n',
    "src/shop/all.js": 'exports.core = require("./core.js");\n',
    "src/lib/parts.js": "exports.forty = () => 40;\n",
    "src/lib/parts.pl": "sub forty { return 40; }\n1;\n",
}
GUTTED_CODE: dict[str, str | None] = {
    "dev/tools/check.js": "",
    "dev/tools/check.pl": "1;\n",
    "src/shop/core.js": "exports.price = () => 41;\n",
    "src/shop/core.pl": "sub price { return 41; }\n1;\n",
}
DONE_CODE: dict[str, str | None] = {
    "src/shop/core.js": 'exports.price = () => 2 * require("../lib/parts.js").half();\n',
    "src/shop/core.pl": 'require "./src/lib/parts.pl";\nsub price { return 2 * half(); }\n1;\n',
    "src/lib/parts.js": "exports.half = () => 20;\n",
    "src/lib/parts.pl": "sub half { return 20; }\n1;\n",
}
CODE_COMMANDS = {
    "node": "node -e \"require('./dev/tools/check.js')\"",
    "node, in a word": "node --eval=\"require('./dev/tools/check')\"",
    "node, and its result": "node -p \"require('./dev/tools/check.js')\"",
    "perl": "perl -we 'require \"./dev/tools/check.pl\"'",
}


@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.many(2)
@pytest.mark.parametrize("command", CODE_COMMANDS.values(), ids=CODE_COMMANDS.keys())
async def test_a_script_that_code_on_the_command_line_loads_drives_it(command: str, tmp_path: Path) -> None:
    grade, why = await judged_where_named(tmp_path, command, GUTTED_CODE, keep=True, base=BY_CODE)
    assert grade is Grade.REFUTED, why
    grade, why = await judged_where_named(tmp_path / "honest", command, DONE_CODE, keep=True, base=BY_CODE)
    assert grade is Grade.TESTED or "cannot see which files" in why, why


@pytest.mark.spec("LAW-6")
@pytest.mark.many(1)
@pytest.mark.parametrize(
    "command",
    [
        "node -e \"process.exit(require('./src/shop/core.js').price() === 40 ? 0 : 1)\"",
        "perl -e 'require \"./src/shop/core.pl\"; exit(price() == 40 ? 0 : 1)'",
    ],
    ids=["node", "perl"],
)
async def test_the_product_that_code_on_the_command_line_loads_is_the_heads(command: str, tmp_path: Path) -> None:
    grade, why = await judged_where_named(tmp_path, command, DONE_CODE, keep=True, base=BY_CODE)
    assert grade is Grade.TESTED or "cannot see which files" in why, why


@pytest.mark.spec("LAW-6")
@pytest.mark.parametrize("file", ["dev/tools/check.js", "src/shop/core.js"])
async def test_a_red_command_is_driven_by_a_script_that_its_code_loads_but_not_by_the_product(
    file: str, tmp_path: Path
) -> None:
    gives = f"require('./{file}').price() === 50 ? 0 : 1"
    base = {**BY_CODE, "dev/tools/check.js": 'exports.price = require("../../src/shop/core.js").price;\n'}
    head: dict[str, str | None] = {file: "exports.price = () => 50;\n"}
    grade, why = await judged_where_named(tmp_path, f'node -e "process.exit({gives})"', head, keep=False, base=base)
    assert grade is (Grade.SELF_TESTED if file.startswith("dev") else Grade.TESTED), why


async def test_a_file_whose_syntax_perl_checks_is_no_driver(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {"src/shop/core.pl": "1;\n"}, [])
    await trial.workspace.begin()
    assert not (await find_drivers(trial.workspace, trial.workspace.base, "perl -c src/shop/core.pl")).runs


async def test_the_options_of_a_shell_give_it_no_code(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {"tools/check.sh": "sh tools/more.sh\n", "tools/more.sh": ""}, [])
    await trial.workspace.begin()
    drivers = await find_drivers(trial.workspace, trial.workspace.base, "sh -e tools/check.sh")
    assert {"tools/check.sh", "tools/more.sh"} <= drivers.runs


@pytest.mark.parametrize("code", ["load 'dev/tools/check.rb'", "require './dev/tools/check'"])
async def test_a_script_that_code_of_ruby_loads_drives_the_command(code: str, tmp_path: Path) -> None:
    files = {"dev/tools/check.rb": "", "src/shop/core.rb": "", "src/test/core.rb": "require './src/shop/core'\n"}
    trial = Trial(tmp_path, files, [])
    await trial.workspace.begin()
    command = f"ruby -e \"{code}; require './src/shop/core'\""
    drivers = await find_drivers(trial.workspace, trial.workspace.base, command)
    assert "dev/tools/check.rb" in drivers.runs
    assert "src/shop/core.rb" not in drivers.runs


async def test_only_the_environment_of_tox_that_a_command_names_drives_it(tmp_path: Path) -> None:
    environments = {"testenv": "pytest", "testenv:serve": "python app.py", "testenv:lint": "python tools/a.py"}
    tox = "".join(f"[{name}]\ncommands = {line}\n" for name, line in environments.items())
    base = {"tox.ini": tox, "app.py": "print(1)\n", "tools/a.py": "print(2)\n"}
    trial = Trial(tmp_path, base, [])
    await trial.workspace.begin()
    runs = {}
    for command in ("tox -e lint", "tox -e serve", "tox"):
        runs[command] = (await find_drivers(trial.workspace, trial.workspace.base, command)).runs & {*base}
    assert runs == {
        "tox -e lint": {"tox.ini", "tools/a.py"},
        "tox -e serve": {"tox.ini", "app.py"},
        "tox": {"tox.ini", "tools/a.py"},
    }
