"""A file that the product uses is the product's, whatever its folder or name.

When tests run, files among tests, settings of test runners and scripts of a package.json are the base's. Cases run with
the head's version of all of them. If the product uses such a file, or a test of the base tries it, the existing tests
must also pass with the head's version.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade, Judged, Outcomes
from trued.proof.build import run_build
from trued.proof.reach.replaced_product import _leads_to, new_product

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

SHOUT_PY = "def shout(text):\n    return text.upper() + '!'\n"
SHOUT_JS = "export function shout(text) { return text.toUpperCase() + '!'; }\n"
NODE_TEST = "import test from 'node:test';\nimport assert from 'node:assert';\n"


def asked_to_shout(call: str) -> list[dict[str, Any]]:
    cases = [{"call": call, "args": [one], "returns": f"{one.upper()}!"} for one in ("hello", "a b")]
    return [{"id": "shout", "text": "shout(text)", "checks": [{"kind": "examples", "cases": cases}]}]


async def judged(place: Path, base: dict[str, str], heads: dict[str, Change], call: str) -> dict[str, Judged]:
    trial = Trial(place, base, asked_to_shout(call))
    contract = await trial.seal_with_existing_tests()
    return dict(zip(heads, await trial.judged(contract, *heads.values()), strict=True))


def grades(found: dict[str, Judged]) -> dict[str, Grade]:
    return {name: one.grade for name, one in found.items()}


def package(**more: Any) -> str:
    return json.dumps({"name": "greet", "version": "1.0.0", "type": "module", **more})


# Laboratory tests: a product whose modules are in a folder `tests`.
PANEL = "def mean(values):\n    return sum(values) / len(values)\n"
LAB = {
    "lab/__init__.py": "",
    "lab/__main__.py": "import sys\n\nfrom lab.tests.panel import mean\n\nprint(mean([*map(float, sys.argv[1:])]))\n",
    "lab/tests/__init__.py": "",
    "lab/tests/panel.py": PANEL,
    "tests/test_panel.py": "from lab.tests.panel import mean\n\n\ndef test_mean():\n    assert mean([1, 2, 6]) == 3\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_product_among_tests_is_the_heads_for_cases(tmp_path: Path) -> None:
    found = await judged(
        tmp_path,
        LAB,
        {
            "a new module": {"lab/tests/shout.py": SHOUT_PY, "lab/shout.py": "from lab.tests.shout import shout\n"},
            "a changed module": {
                "lab/tests/panel.py": f"{PANEL}\n\n{SHOUT_PY}",
                "lab/shout.py": "from lab.tests.panel import shout\n",
            },
            "a new module that existing tests load": {
                "lab/tests/shout.py": SHOUT_PY,
                "lab/shout.py": "from lab.tests.shout import shout\n",
                "lab/__init__.py": "from lab.shout import shout\n",
            },
            "new data": {
                "lab/tests/mark.txt": "!",
                "lab/shout.py": "from pathlib import Path\n\nMARK = Path(__file__).parent / 'tests' / 'mark.txt'\n\n\n"
                "def shout(text):\n    return text.upper() + MARK.read_text()\n",
            },
        },
        "lab.shout:shout",
    )
    assert {*grades(found).values()} == {Grade.PROVEN}, found


NET = {
    "package.json": package(scripts={"test": "node --test test/"}),
    "src/one.mjs": "export const one = () => 1;\n",
    "test/one.test.mjs": f"{NODE_TEST}import {{ one }} from '../src/one.mjs';\n"
    "test('one', () => { assert.equal(one(), 1); });\n",
}


@pytest.mark.slow
@needs_node
@pytest.mark.spec("LAW-4", "LAW-6")
async def test_a_product_module_named_like_a_test_is_the_heads_for_cases(tmp_path: Path) -> None:
    speed = f"{SHOUT_JS}export const isEmpty = (text) => /^$/.test(text);\n"
    head = {"src/speed-test.mjs": speed, "src/shout.mjs": "export { shout } from './speed-test.mjs';\n"}
    loaded = {**head, "src/one.mjs": f"import './shout.mjs';\n{NET['src/one.mjs']}"}
    found = await judged(tmp_path, NET, {"honest": head, "loaded": loaded}, "src/shout.mjs:shout")
    assert {*grades(found).values()} == {Grade.PROVEN}, found


@pytest.mark.slow
@needs_node
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(
    ("new", "text", "using", "stays"),
    [
        (
            "src/speed-test.mjs",
            "export const isEmpty = (text) => /^$/.test(text);\n",
            "import './speed-test.mjs';",
            True,
        ),
        ("src/tests/speed.mjs", "", "export const load = (name) => import(`./tests/${name}.mjs`);", True),
        ("src/tests/speed.mjs", "", "import {\n  // quick\n} from './tests/speed.mjs';", True),
        ("__mocks__/axios.mjs", "", "import '../__mocks__/axios.mjs';", False),
        ("src/__tests__/zz.mjs", "", "import './__tests__/zz.mjs';", False),
        ("src/zz-spec.mjs", "test('passes', () => {});\n", "import './zz-spec.mjs';", False),
        ("src/zz.test.mjs", "import './one.mjs';\n", "import './zz.test.mjs';", False),  # named like the base's test
        ("src/zz-spec.mjs", "", "// src/zz-spec.mjs", False),
        ("src/tests/zz.mjs", "", "/* import './tests/zz.mjs' */", False),
    ],
)
async def test_a_new_file_stays_only_if_the_product_alone_loads_it(
    tmp_path: Path, new: str, text: str, using: str, stays: bool
) -> None:
    trial = Trial(tmp_path, NET, asked_to_shout("src/shout.mjs:shout"))
    contract = await trial.seal_with_existing_tests()
    commit = await trial.head({new: text, "src/shout.mjs": f"{using}\n{SHOUT_JS}"})
    assert await new_product(trial.workspace, contract, commit) == ([new] if stays else [])


@pytest.mark.slow
@needs_node
@pytest.mark.spec("LAW-4", "LAW-5")
async def test_new_product_is_there_for_the_tests_of_the_change_for_builds_and_for_red_suites(tmp_path: Path) -> None:
    own_test = "test/shout.test.mjs"
    base = {**NET, "package.json": package(scripts={"test": "node --test test/", "shout": "node src/shout.mjs"})}
    checks = [{"kind": "tests", "command": "npm test", "files": [own_test]}]
    trial = Trial(tmp_path, base, [{"id": "shout", "text": "shout(text)", "checks": checks}])
    contract = await trial.seal_with_existing_tests()
    work = {
        "src/load-spec.mjs": f"{SHOUT_JS}export const isEmpty = (text) => /^$/.test(text);\n",
        "src/shout.mjs": "export { shout } from './load-spec.mjs';\n",
        own_test: f"{NODE_TEST}import {{ shout }} from '../src/shout.mjs';\n"
        "test('shout', () => { assert.equal(shout('a'), 'A!'); });\n",
    }
    stub = {**work, "src/load-spec.mjs": SHOUT_JS.replace("'!'", "''")}
    commits = [await trial.head(work), await trial.head(stub)]
    verdicts = [await trial.prove(contract, commit) for commit in commits]
    assert [one.requirements[0].grade for one in verdicts] == [Grade.SELF_TESTED, Grade.UNPROVEN]
    assert any(note.startswith("src/load-spec.mjs: ") for note in verdicts[0].undecided)
    built = await run_build(trial.workspace, contract, "npm run shout", commits[0])
    assert built.tried.outcome is Outcomes.PASSED, built


@pytest.mark.parametrize(
    ("path", "text", "uses"),
    [
        ("lab/all.py", "[import_module(one.name) for one in pkgutil.iter_modules(tests.__path__)]", True),
        ("lab/all.py", "[import_module(one.stem) for one in HERE.iterdir() if one.suffix == '.py']", True),
        ("lab/all.py", "[import_module(one.stem) for one in HERE.iterdir() if one.suffix == '.so']", False),
        ("shop/all.py", "[import_module(one.name) for one in pkgutil.iter_modules(shop.__path__)]", False),
    ],
)
def test_product_that_lists_modules_loads_them(path: str, text: str, *, uses: bool) -> None:
    assert _leads_to(path, text, "lab/tests/panel.py") is uses


LAB_WORK = {"lab/shout.py": SHOUT_PY}
NET_WORK = {"src/shout.mjs": SHOUT_JS}
STUB = PANEL.replace("sum(values) / len(values)", "0  # TODO")
MAIN_TEST = (
    "import subprocess\nimport sys\n\n\ndef test_main():\n"
    "    ran = subprocess.run([sys.executable, '-m', 'lab', '1', '3'], capture_output=True, text=True)\n"
    "    assert ran.stdout == '2.0\\n'\n"
)
QUIZ = {
    "lab/__init__.py": "",
    "lab/quiz.py": "import json\nfrom pathlib import Path\n\n\ndef questions(name):\n"
    "    return json.loads((Path(__file__).parent / 'tests' / f'{name}.json').read_text())\n",
    "lab/tests/driving.json": '["Who has right of way?", "What is the limit?"]\n',
    "tests/test_quiz.py": "from lab.quiz import questions\n\n\ndef test_driving():\n"
    "    assert len(questions('driving')) == 2\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_existing_tests_must_pass_with_the_heads_product_among_tests(tmp_path: Path) -> None:
    """What replaces it when tests run is right, and hides that the head's is wrong."""
    fallback = "try:\n    from lab.tests.mean import mean\nexcept ImportError:\n    from lab.tests.panel import mean\n"
    heads: dict[str, Change] = {
        "a stub": {**LAB_WORK, "lab/tests/panel.py": STUB},
        "a new module that is only used where it is": {
            **LAB_WORK,
            "lab/tests/mean.py": STUB,
            "lab/__main__.py": LAB["lab/__main__.py"].replace("from lab.tests.panel import mean\n", fallback),
        },
        "removed": {"lab/shout.py": SHOUT_PY, "lab/tests/panel.py": None},
        "another text": {**LAB_WORK, "lab/tests/panel.py": PANEL.replace("sum(values) /", "sum(values, 0) /")},
        "a test and its data": {
            **LAB_WORK,
            "tests/data.json": "[]",
            "tests/test_panel.py": f"{LAB['tests/test_panel.py']}\n\ndef test_more():\n    assert mean([1]) == 1\n",
        },
        "nothing": LAB_WORK,
    }
    base = {**LAB, "tests/test_main.py": MAIN_TEST}
    verdicts = await judged(tmp_path, base, heads, "lab.shout:shout")
    found, wrong, right = grades(verdicts), [*heads][:3], [*heads][3:]
    # Agents learn which existing tests fail with which files, and have to fix them; for honest work there is nothing.
    assert [verdicts[name].holds for name in heads] == [*[False] * 3, *[True] * 3], verdicts
    assert all("lab/tests/" in verdicts[name].gaps[0].what for name in wrong), verdicts
    assert all("tests/test_" in verdicts[name].gaps[0].what for name in wrong), verdicts
    assert not any(verdicts[name].gaps for name in right), verdicts
    assert found == {**dict.fromkeys(wrong, Grade.UNPROVEN), **dict.fromkeys(right, Grade.PROVEN)}, found


@pytest.mark.spec("LAW-4", "LAW-9")
@pytest.mark.slow
async def test_existing_tests_must_pass_with_the_heads_data_among_tests(tmp_path: Path) -> None:
    more = '["Who has right of way?", "How fast?"]\n'
    heads: dict[str, Change] = {
        "emptied": {**LAB_WORK, "lab/tests/driving.json": "[]\n"},
        "changed": {**LAB_WORK, "lab/tests/driving.json": more},
        "new": {**LAB_WORK, "lab/tests/sailing.json": more},
    }
    found = await judged(tmp_path, QUIZ, heads, "lab.shout:shout")
    assert [*grades(found).values()] == [Grade.UNPROVEN, Grade.PROVEN, Grade.PROVEN], found
    assert "lab/tests/driving.json" in found["emptied"].why[0]


SCRIPTS = {"test": "node --test", "greet": "node bin/greet.mjs", "lint": "true"}
GREET: dict[str, str] = {
    "package.json": package(scripts=SCRIPTS, config={"greeting": "Hello"}),
    "src/greet.mjs": "import { readFileSync } from 'node:fs';\n"
    "const { config } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)));\n"
    "export const greet = (name) => `${config.greeting}, ${name}`;\n",
    "bin/greet.mjs": "import { greet } from '../src/greet.mjs';\nconsole.log(greet(process.argv[2] ?? 'you'));\n",
    "test/greet.test.mjs": f"{NODE_TEST}import {{ greet }} from '../src/greet.mjs';\n"
    "test('greets', () => { assert.equal(greet('Ann'), 'Hello, Ann'); });\n",
}
NPM_TEST = (
    f"{NODE_TEST}import {{ execFileSync }} from 'node:child_process';\n"
    "test('npm run greet greets', () => {\n"
    "  const said = execFileSync('npm', ['run', '-s', 'greet', '--', 'Ann'], { encoding: 'utf8' });\n"
    "  assert.equal(said, 'Hello, Ann\\n');\n});\n"
)


@pytest.mark.slow
@needs_node
@needs_npm
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_existing_tests_must_pass_with_the_heads_package_json(tmp_path: Path) -> None:
    def changed(**more: Any) -> Change:
        return {**NET_WORK, "package.json": package(**{"scripts": SCRIPTS, "config": {"greeting": "Hello"}, **more})}

    heads = {
        "a script that does nothing": changed(scripts={**SCRIPTS, "greet": "echo TODO"}),
        "settings removed": {**NET_WORK, "package.json": package(scripts=SCRIPTS)},
        "a changed and a new script": changed(
            scripts={**SCRIPTS, "lint": "node --check bin/greet.mjs", "more": "true"}
        ),
        "the way to start tests": changed(scripts={**SCRIPTS, "test": "node --test --test-reporter=spec"}),
        "more settings": changed(config={"greeting": "Hello", "port": "80"}),
    }
    found = await judged(tmp_path, {**GREET, "test/npm.test.mjs": NPM_TEST}, heads, "src/shout.mjs:shout")
    assert [*grades(found).values()] == [*[Grade.UNPROVEN] * 2, *[Grade.PROVEN] * 3], found


VITE = "export default { base: '/app/', build: { sourcemap: false } };\n"
SITE: dict[str, str] = {
    "package.json": package(scripts={"test": "node --test", "build": "vite build"}, devDependencies={"vite": "^5.0.0"}),
    "vite.config.js": VITE,
    "src/test/grade.mjs": "export const grade = (list) => list.filter(Boolean).length;\n",
    "src/main.mjs": "import { grade } from './test/grade.mjs';\nconsole.log(grade([1, 0, 1]));\n",
    "spec/openapi.json": '{"paths": {"/a": {}, "/b": {}}}\n',
    "spec/notes.json": "{}\n",
    "src/routes.mjs": "import { readFileSync } from 'node:fs';\n"
    "const read = () => JSON.parse(readFileSync(new URL('../spec/openapi.json', import.meta.url)));\n"
    "export const routes = () => Object.keys(read().paths);\n",
    "spec/site.test.mjs": f"{NODE_TEST}import {{ grade }} from '../src/test/grade.mjs';\n"
    "import { routes } from '../src/routes.mjs';\nimport config from '../vite.config.js';\n"
    "test('is served below /app/', () => { assert.equal(config.base, '/app/'); });\n"
    "test('routes', () => { assert.deepEqual(routes(), ['/a', '/b']); });\n"
    "test('grades', () => { assert.equal(grade([1, 0, 1]), 2); });\n",
}


@pytest.mark.slow
@needs_node
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_existing_tests_must_pass_with_the_heads_scripts_and_settings(tmp_path: Path) -> None:
    heads: dict[str, Change] = {
        "settings that a test reads": {**NET_WORK, "vite.config.js": VITE.replace("/app/", "/")},
        "product in a folder test": {**NET_WORK, "src/test/grade.mjs": "export const grade = () => 100;\n"},
        "data beside tests": {**NET_WORK, "spec/openapi.json": '{"paths": {"/a": {}}}\n'},
        "honest settings": {**NET_WORK, "vite.config.js": VITE.replace("false", "true")},
        "honest product": {**NET_WORK, "src/test/grade.mjs": f"// counts\n{SITE['src/test/grade.mjs']}"},
        "honest data": {**NET_WORK, "spec/openapi.json": '{"paths": {"/a": {"get": {}}, "/b": {}}}\n'},
        "data of nobody": {**NET_WORK, "spec/notes.json": "no JSON"},
    }
    found = await judged(tmp_path, SITE, heads, "src/shout.mjs:shout")
    assert [*grades(found).values()] == [*[Grade.UNPROVEN] * 3, *[Grade.PROVEN] * 4], found


MAKE = "lint:\n\tpython -m compileall -q lab\n\nsite:\n\tpython -m lab.site > site.html\n"
MAKEFILE = {
    "Makefile": MAKE,
    "lab/__init__.py": "",
    "lab/site.py": "print('<h1>lab</h1>')\n",
    "lab/util.py": "def one():\n    return 1\n",
    "tests/test_site.py": "import subprocess\nfrom pathlib import Path\n\nfrom lab.util import one\n\n\n"
    "def test_one():\n    assert one() == 1\n\n\ndef test_site():\n    subprocess.run(['make', 'site'], check=True)\n"
    "    assert Path('site.html').read_text() == '<h1>lab</h1>\\n'\n",
}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_existing_tests_must_pass_with_the_heads_build_file(tmp_path: Path) -> None:
    lint = {"id": "lint", "text": "make lint", "keep": True, "checks": [{"kind": "command", "command": "make lint"}]}
    trial = Trial(tmp_path, MAKEFILE, [*asked_to_shout("lab.shout:shout"), lint])
    contract = await trial.seal_with_existing_tests()
    work = {**LAB_WORK, "lab/util.py": "def one():\n    return 2 - 1\n"}
    stubbed, more = MAKE.replace("python -m lab.site > site.html", "@echo TODO"), f"{MAKE}\nclean:\n\trm -f site.html\n"
    found = {}
    for name, text in {"stubbed": stubbed, "one more target": more}.items():
        verdict = await trial.prove(contract, await trial.head({**work, "Makefile": text}))
        found[name] = [one.grade for one in verdict.requirements]
    assert found == {"stubbed": [Grade.UNPROVEN] * 2, "one more target": [Grade.PROVEN, Grade.TESTED]}, found


MONTH = {
    "shop/__init__.py": "",
    "shop/month.py": "def shown(name):\n    import textwrap\n\n    return textwrap.shorten(name, 8)\n",
    "shop/__main__.py": "import json\n\nfrom shop.month import shown\n\nprint(json.dumps(shown('June')))\n",
    "tools/report.py": "from statistics import mean\n\nif __name__ == '__main__':\n    print(mean([1, 2]))\n",
    "tests/test_month.py": "from shop.month import shown\n\n\ndef test_shown():\n"
    "    assert shown('a long name') == 'a [...]'\n",
}


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-9")
async def test_a_new_module_in_place_of_one_outside_of_the_project_is_tested_at_most(tmp_path: Path) -> None:
    """The test runner has loaded Python's own module already, so no test notices."""
    own, work = "def wrap_with_stars(text):\n    return f'*{text}*'\n", {"shop/shout.py": SHOUT_PY}
    heads: dict[str, Change] = {
        "a module": {**work, "textwrap.py": own},
        "a package": {**work, "textwrap/__init__.py": own},
        "what Python's own module imports": {**work, "scanner.py": own, "codecs.py": own},
        "beside a script": {**work, "tools/statistics.py": own},
        "in a package": {**work, "shop/textwrap.py": own},
        "a module that nothing else loads": {**work, "sndhdr.py": own},
        "another name": {**work, "stars.py": own},
    }
    found = await judged(tmp_path, MONTH, heads, "shop.shout:shout")
    assert [*grades(found).values()] == [*[Grade.TESTED] * 4, *[Grade.PROVEN] * 3], found
    assert "textwrap.py" in found["a module"].why[0]
