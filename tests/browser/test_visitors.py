"""Pages that show something to a test alone: the second visit is an ordinary person's."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.test_browser_check import at, needs_chromium, opened, unmet

FOR_TESTS = """<!doctype html><h1>Shop</h1><p id="points"></p><script>
const tested = navigator.webdriver || navigator.userAgent.includes("Headless");
document.getElementById("points").textContent = tested ? "Earn 40 points" : "soon";
</script>"""
FOR_ALL = FOR_TESTS.replace('"soon"', '"Earn 40 points"')


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-6", "DAY-3")
async def test_what_only_a_test_is_shown_does_not_pass_twice(tmp_path: Path) -> None:
    shows = {"sees": ["Earn 40 points"]}
    async with at(tmp_path / "liar", {"index.html": FOR_TESTS}) as bench:
        assert unmet(await opened(bench, **shows)) == {}
        assert unmet(await opened(replace(bench, second=True), **shows)) == {'sees "Earn 40 points"': "sees"}
    async with at(tmp_path / "honest", {"index.html": FOR_ALL}) as bench:
        assert unmet(await opened(replace(bench, second=True), **shows)) == {}
