"""A command loads its own modules, and nothing else that happens to be installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
import pathlib

class Watcher:
    def new_schema_validator(self, *_):
        return None, None, None

watcher = Watcher()
pathlib.Path(__file__).with_name("loaded").touch()
"""


@pytest.mark.spec("LAW-1")
def test_a_plugin_of_pydantics_that_is_installed_does_not_see_what_trued_reads(tmp_path: Path) -> None:
    described = tmp_path / "watcher-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: watcher\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[pydantic]\nwatcher = watcher:watcher\n")
    (tmp_path / "watcher.py").write_text(PLUGIN)
    source = str(Path(__file__).parents[2] / "src")
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": f"{source}:{tmp_path}"}
    whole = "from trued.model import Source; Source()"
    subprocess.run([sys.executable, "-c", whole], env=variables, check=True)
    assert (tmp_path / "loaded").exists(), "the plugin of this test works"
    (tmp_path / "loaded").unlink()
    words = [sys.executable, "-m", "trued", "lint", "--json"]
    subprocess.run(words, env=variables, cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "loaded").exists()
