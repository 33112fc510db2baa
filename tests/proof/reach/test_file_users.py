"""Whether a file uses another is read from its text."""

import pytest

from trued.proof.reach.file_users import uses_file


@pytest.mark.parametrize(
    ("path", "text", "one", "used"),
    [
        ("tests/test_a.py", "from kit import testing", "kit/testing.py", True),
        ("kit/app.py", "from .testing import same", "kit/testing.py", True),
        ("pyproject.toml", '[project.scripts]\ncheck = "kit.testing:main"', "kit/testing.py", True),
        ("kit/app.py", "import kit.testings", "kit/testing.py", False),
        ("kit/app.py", "from kit import core", "kit/testing.py", False),
        ("kit/app.py", "from kit.plugins import load_all", "kit/plugins/one.py", True),
        ("tests/test_a.py", "import testkit", "testkit/__init__.py", True),
        ("tests/test_a.py", "from testkit.more import same", "testkit/__init__.py", True),
        ("testkit/more.py", "from . import other", "testkit/__init__.py", False),
        ("kit/app.py", "import testkits", "testkit/__init__.py", False),
        ("pyproject.toml", 'packages = ["testkit"]', "testkit/__init__.py", True),
        ("src/index.html", "<script src='app.js'></script>", "src/app.js", True),
        ("src/b.js", "readdirSync('./plugins')", "src/plugins/one.js", True),
        ("test/a.test.js", "import { same } from '../lib/check.js';", "lib/check.js", True),
        ("src/b.js", "import { same } from './check.js';", "lib/check.js", False),
        ("test/a.test.js", "import should from 'should-be';", "node_modules/should-be/index.js", True),
        ("package.json", '{"devDependencies": {"should-be": "1"}}', "node_modules/should-be/index.js", False),
        ("src/b.js", "import should from 'should';", "node_modules/should-be/index.js", False),
        ("node_modules/should-be/b.js", "require('should-be')", "node_modules/should-be/index.js", False),
        ("kit_test.go", 'import "example.com/kit/internal/check"', "internal/check/check.go", True),
        ("kit_test.go", 'import "example.org/check"', "vendor/example.org/check/check.go", True),
        ("internal/check/more.go", 'import "example.com/kit/internal/check"', "internal/check/check.go", False),
        ("tests/test_a.py", "open('golden/sum.txt')", "golden/sum.txt", True),
        ("kit/app.py", "for one in Path('golden').glob('*'):", "golden/sum.txt", True),
        ("kit/app.py", "golden = 3", "golden/sum.txt", False),
    ],
)
def test_use_is_read_from_texts(path: str, text: str, one: str, used: bool) -> None:
    known = dict.fromkeys((one, path), "1")
    assert uses_file(path, text, one, known) is used
