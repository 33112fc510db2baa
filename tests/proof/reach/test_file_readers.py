"""Who reads a file decides what it is: this is read from texts."""

import time

import pytest

from trued.proof.reach.file_readers import files_that_code_reads, may_read


@pytest.mark.parametrize(
    ("path", "text", "one", "read"),
    [
        ("kit/mail.py", "(FOLDER / 'welcome.md').read_text()", "kit/pages/welcome.md", True),
        ("kit/mail.py", "# see welcome.md\nX = 1", "kit/pages/welcome.md", False),
        ("kit/mail.py", '"""Fills welcome.md."""\nX = 1', "kit/pages/welcome.md", False),
        ("kit/mail.py", "(FOLDER / 'pages' / name).read_text()", "kit/pages/welcome.md", True),
        ("kit/mail.py", "open(f'{FOLDER}/pages/{name}')", "kit/pages/welcome.md", True),
        ("kit/mail.py", "os.walk(FOLDER / 'pages')", "kit/pages/more/welcome.md", True),
        ("kit/mail.py", "open(HERE / 'docs/pages' / name)", "docs/guide.md", False),
        ("kit/mail.py", "open(f'docs/{name}/x')", "docs/guide.md", True),
        ("kit/mail.py", "x = 1  # see welcome.md", "kit/pages/welcome.md", False),
        ("kit/mail.py", "{'pages': 3}", "kit/pages/more/welcome.md", False),
        ("kit/mail.py", "open(HERE / f'{name}.md')", "kit/welcome.md", True),
        ("kit/mail.py", "HERE.iterdir()", "kit/welcome.md", True),
        ("kit/mail.py", "open(HERE / f'{name}.md')", "README.md", False),
        ("app.py", "FastAPI(docs_url='/docs')", "docs/index.md", False),
        ("app.js", "express.static(__dirname + '/docs')", "docs/index.md", True),
        ("app.js", "readFileSync(`${here}/docs/${name}`)", "docs/index.md", True),
        ("kit/mail.py", "LICENSE = 'MIT'", "LICENSE", False),
        ("kit/mail.py", "open('LICENSE')", "LICENSE", True),
        ("Makefile", "all:\n\tdiff LICENSE x", "LICENSE", True),
        ("pyproject.toml", "readme = 'README.md'", "README.md", False),
        ("setup.py", "open('README.md').read()", "README.md", False),
        ("kit/mail.py", "open('a.json')", "kit/a.json", True),
        ("kit/mail.py", "open('a [1].json')", "kit/a [1].json", True),
        ("tests/test_a.py", "sorted(Path('golden').rglob('*.in'))", "golden/basic/a.out", True),
        ("tests/test_a.py", "Path('gold').rglob('*.in')", "golden/basic/a.out", False),
    ],
)
def test_who_may_read_a_file(path: str, text: str, one: str, read: bool) -> None:
    assert may_read(path, text, one, {path, one}) is read


@pytest.mark.spec("USE-6")
def test_a_long_text_that_never_closes_is_read_at_once() -> None:
    text = "x = '" + r"\"" * 300_000
    before = time.process_time()
    assert not may_read("kit/mail.py", text, "kit/pages/welcome.md", {"kit/mail.py", "kit/pages/welcome.md"})
    assert may_read("kit/mail.py", f"{text}\nopen(HERE / 'pages' / name)", "kit/pages/welcome.md", set())
    assert time.process_time() - before < 5


def test_a_name_means_the_nearest_file_of_that_name() -> None:
    known = {"kit/needs.py", "requirements.txt", "golden/requirements.txt"}
    assert may_read("kit/needs.py", "open('requirements.txt')", "requirements.txt", known)
    assert not may_read("kit/needs.py", "open('requirements.txt')", "golden/requirements.txt", known)
    assert may_read("kit/needs.py", "open('golden/requirements.txt')", "golden/requirements.txt", known)


def test_settings_read_files_only_if_code_reads_the_settings() -> None:
    files = ["README.md", "docs/a.md", "pages/b.md", "c.md"]
    texts = {
        "mkdocs.yml": "nav: [docs/a.md]\n",
        "kit/pages.yaml": "first: pages/b.md\n",
        "kit/app.py": "open(HERE / 'pages.yaml')\n",
        "Dockerfile": "COPY README.md .\n",
        "bin/run": "#!/bin/sh\ncat c.md\n",
        ".github/workflows/ci.yml": "paths: [README.md]\n",
    }
    assert files_that_code_reads(texts, files, {*texts, *files}) == {"pages/b.md", "c.md"}
