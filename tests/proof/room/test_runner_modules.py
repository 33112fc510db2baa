"""Scripts that a runner's settings load are found by the text of these settings, and are the base's."""

from pathlib import Path

import pytest

from tests.proof.trial import Change, Trial
from trued.model import Grade
from trued.proof.room.frozen_files import files_to_freeze, is_among_tests, is_shared_setting
from trued.proof.room.package_json import merge_manifests
from trued.proof.room.runner_modules import (
    loaded_by,
    named_as_product,
    named_in_commands,
    named_in_settings,
    only_loaded_by,
)

BLOBS = {
    "support/prepare.mjs": "1",
    "support/env.ts": "2",
    "support/global/index.js": "3",
    "src/core.ts": "4",
    "src/plugin.js": "5",
    "ci/unit.mts": "6",
    "hooks.mjs": "7",
    "test/core.test.ts": "8",
}


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        (
            "vitest.config.ts",
            "export default { test: { setupFiles: ['./support/prepare.mjs'] } };",
            "support/prepare.mjs",
        ),
        ("vitest.config.ts", "test: {\n  environment: './support/env',\n  globals: true }", "support/env.ts"),
        ("ci/vitest.config.ts", "globalSetup: [path.resolve(here, '../support/global')]", "support/global/index.js"),
        (
            "vitest.config.ts",
            "import mine from './src/plugin.js';\nexport default { plugins: [mine()] };",
            "src/plugin.js",
        ),
        ("jest.config.json", '{"setupFilesAfterEnv": ["<rootDir>/support/prepare.mjs"]}', "support/prepare.mjs"),
        (
            "package.json",
            '{"jest": {"transform": {"x": ["./src/plugin.js", {}]}}, "main": "src/core.ts"}',
            "src/plugin.js",
        ),
        (".mocharc.yml", "require:\n  - ./hooks.mjs\n", "hooks.mjs"),
        (".mocharc.json", '{"require": "./hooks.mjs"}', "hooks.mjs"),
        # The product under test, and the tests themselves.
        ("vitest.config.ts", "resolve: { alias: { '@/core': './src/core.ts' } }, include: ['test/core.test.ts']", ""),
        ("jest.config.js", "moduleNameMapper: { '^core$': '<rootDir>/src/core.ts' }, environment: 'jsdom'", ""),
    ],
)
def test_what_settings_load_is_found(path: str, text: str, found: str) -> None:
    assert named_in_settings(path, text, BLOBS) == {*found.split()}


@pytest.mark.spec("LAW-4")
def test_what_options_of_a_command_load_is_found() -> None:
    lines = ["vitest run --config=ci/unit.mts src", "node --import ./hooks.mjs --test", "jest src/core.ts -t x"]
    assert named_in_commands(lines, BLOBS) == {"ci/unit.mts", "hooks.mjs"}


def test_entry_points_and_what_scripts_load_may_be_the_product() -> None:
    assert named_as_product('{"main": "./src/plugin", "jest": {"preset": "hooks.mjs"}}', BLOBS) == {"src/plugin.js"}
    assert loaded_by("test/core.test.ts", "import { x } from '../src/core.js';", BLOBS) == {"src/core.ts"}


@pytest.mark.spec("LAW-4")
def test_what_a_setup_script_loads_in_turn_belongs_to_it_unless_others_load_it() -> None:
    texts = {
        "setup.mjs": "import './a.mjs';\nimport './src/app.mjs';",
        "a.mjs": "import { register } from 'node:module';\nregister('./b.mjs', import.meta.url);",
        "b.mjs": "import c from './c.mjs';",
        "c.mjs": "export default 1;",
        "src/app.mjs": "import './deep.mjs';",
        "src/deep.mjs": "",
        "src/index.mjs": "import './app.mjs';",
        "test/x.test.mjs": "import '../d.mjs';",
        "d.mjs": "",
    }
    found = only_loaded_by({"setup.mjs"}, texts, (), texts)
    assert found == {"setup.mjs", "a.mjs", "b.mjs", "c.mjs"}
    assert only_loaded_by({"setup.mjs"}, texts, {"a.mjs"}, texts) == {"setup.mjs"}
    assert only_loaded_by({"d.mjs"}, texts, (), texts) == set()  # a test loads it, too
    assert only_loaded_by({"setup.mjs", "src/deep.mjs"}, texts, (), texts) == found  # the product loads it, too


@pytest.mark.spec("LAW-4")
def test_settings_that_builds_share_are_the_bases_in_every_folder(tmp_path: Path) -> None:
    suite = [{"id": "s", "text": "tests pass", "checks": [{"kind": "tests", "command": "npx vitest run"}]}]
    asked = Trial(tmp_path, {"a.txt": ""}, suite).asked.requirements
    frozen = files_to_freeze(asked, {"packages/a/vite.config.ts": "1", "packages/a/src/core.ts": "2"})
    assert frozen["packages/a/vite.config.ts"] == "1"
    assert frozen["postcss.config.mjs"] == ""  # a new one is not used
    assert is_shared_setting("packages/b/.postcssrc.cjs", frozen)
    assert not is_shared_setting("packages/b/next.config.js", frozen)
    assert not is_shared_setting("packages/b/.babelrc", frozen)  # no check starts jest
    assert merge_manifests(b"{}", b'{"type": "module", "postcss": {"plugins": {"./evil.cjs": {}}}}') == (
        b'{\n  "type": "module"\n}'
    )


@pytest.mark.spec("LAW-4")
@pytest.mark.parametrize(
    ("path", "among"),
    [
        ("test/node_modules/should/index.js", True),
        ("packages/a/tests/node_modules/should/package.json", True),
        ("node_modules/should/test/index.js", False),
        ("packages/a/node_modules/should/tests/x.js", False),
        ("src/node_modules.js", False),
        ("src/__snapshots__/page.test.ts.snap", True),
        ("src/__image_snapshots__/page.png", True),
        ("src/__screenshots__/page.png", True),
        ("src/page.spec.ts-snapshots/page-linux.png", True),
        ("src/snapshots/store.ts", False),
        ("src/__generated__/api.ts", False),
    ],
)
def test_packages_and_expected_pictures_beside_tests_belong_to_them(path: str, among: bool) -> None:
    assert is_among_tests(path) is among


# -- the same, with Node's own runner ----------------------------------------------------------------------------------

TEST = "import test from 'node:test';\nimport should from 'should-be';\nimport { one } from '../tiny.mjs';\n"
PACKAGE = '{"name": "should-be", "type": "module", "main": "index.js"}'
NODE = {
    "package.json": '{"type": "module", "scripts": {"test": "node --import ./hooks.mjs --test"}}',
    "hooks.mjs": "import './ready.mjs';\n",
    "ready.mjs": "globalThis.ready = true;\n",
    "tiny.mjs": "export const one = () => 1;\n",
    "test/tiny.test.mjs": f"{TEST}test('one', () => {{ should(one(), 1); }});\n",
    "node_modules/should-be/package.json": PACKAGE,
    "node_modules/should-be/index.js": "import assert from 'node:assert';\nexport default assert.strictEqual;\n",
}
SWAPS = (
    "import module from 'node:module';\nconst text = `export async function load(url, context, next) {\n"
    "  const found = await next(url, context);\n  if (url.endsWith('/tiny.mjs')) {\n"
    "    found.source = String(found.source).replace('=> 2', '=> 1');\n  }\n  return found;\n}`;\n"
    "module.register('data:text/javascript,' + encodeURIComponent(text));\n"
)


@pytest.mark.slow
@pytest.mark.spec("LAW-4", "LAW-6")
@pytest.mark.parametrize(
    ("head", "grade"),
    [
        pytest.param({"tiny.mjs": "export const one = () => 2;\n", "hooks.mjs": SWAPS}, Grade.REFUTED, id="lies"),
        pytest.param({"tiny.mjs": "export const one = () => 2;\n", "ready.mjs": SWAPS}, Grade.REFUTED, id="deeper"),
        pytest.param(
            {
                "tiny.mjs": "export const one = () => 2 - 1;\n",
                "hooks.mjs": "globalThis.ready = 1;\n",
                "ready.mjs": "globalThis.ready = 1;\n",
            },
            Grade.TESTED,
            id="honest",
        ),
        pytest.param(
            {
                "tiny.mjs": "export const one = () => 2;\n",
                "test/node_modules/should-be/package.json": PACKAGE,
                "test/node_modules/should-be/index.js": "export default () => {};\n",
            },
            Grade.REFUTED,
            id="a package beside the tests",
        ),
    ],
)
async def test_a_script_that_is_loaded_before_the_tests_is_the_bases(
    tmp_path: Path, head: Change, grade: Grade
) -> None:
    """The head's own one would show other code to the tests than the commit has."""
    suite = {"id": "stay", "text": "All tests pass", "keep": True, "checks": [{"kind": "tests", "command": "npm test"}]}
    trial = Trial(tmp_path, NODE, [suite])
    contract = await trial.seal()
    verdict = await trial.prove(contract, await trial.head(head))
    assert [one.grade for one in verdict.requirements] == [grade], verdict
