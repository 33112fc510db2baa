"""Text that is on the page, but not on its picture: nobody sees it."""

from pathlib import Path

import pytest

from tests.browser.test_browser_check import at, needs_chromium, opened, unmet

TEXT = "Earn 40 points"
UNSEEN = {
    "cut off": "height: 0; overflow: hidden",
    "transparent": "color: transparent",
    "in the colour of the page": "color: white; background: white",
    "clipped": "clip-path: inset(100%)",
    "for screen readers": "position: absolute; width: 1px; height: 1px; overflow: hidden; clip: rect(0, 0, 0, 0)",
    "far to the right": "position: absolute; left: 99999px",
    "too faint": "opacity: 0.001",
    "filtered": "filter: opacity(0)",
    "masked": "-webkit-mask-image: linear-gradient(transparent, transparent)",
    "transparent far below": "position: absolute; top: 3500px; color: transparent",
    "transparent, by force": "color: transparent !important",
}
SEEN = {
    "plain": "",
    "far below": "position: absolute; top: 7000px",
    "white on black": "color: white; background: black",
    "by force": "color: red !important",
    "a gradient": "background: linear-gradient(red, blue); -webkit-background-clip: text; color: transparent",
    "a shadow": "color: transparent; text-shadow: 0 0 1px black",
}
COVERED = f"<p>{TEXT}</p><div style='position: fixed; inset: 0; background: white'>Shop</div>"
BOX = f"<div style='height: 60px; overflow: auto'><div style='height: 400px'>Shop</div><p>{TEXT}</p></div>"
DRAWN = f"<svg width='300' height='40'><text x='5' y='20'>{TEXT}</text></svg><input value='In a field'>"


def page(style: str) -> str:
    return f"<!doctype html><html><body><h1>Shop</h1><p style='{style}'>{TEXT}</p></body></html>"


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-1", "DAY-3")
async def test_what_is_not_on_the_picture_is_not_seen(tmp_path: Path) -> None:
    pages = {f"{number}.html": page(style) for number, style in enumerate(UNSEEN.values())}
    async with at(tmp_path, {**pages, "covered.html": COVERED}) as bench:
        for number, what in enumerate(UNSEEN):
            found = await opened(bench, page=f"/{number}.html", sees=[TEXT, "Shop"])
            assert unmet(found) == {f'sees "{TEXT}"': "sees"}, what
        assert unmet(await opened(bench, page="/covered.html", sees=[TEXT])) == {f'sees "{TEXT}"': "sees"}


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-1", "DAY-3")
async def test_what_is_on_the_picture_is_seen(tmp_path: Path) -> None:
    pages = {f"{number}.html": page(style) for number, style in enumerate(SEEN.values())}
    async with at(tmp_path, {**pages, "box.html": BOX, "drawn.html": DRAWN}) as bench:
        for number, what in enumerate(SEEN):
            assert unmet(await opened(bench, page=f"/{number}.html", sees=[TEXT, "Shop"])) == {}, what
        assert unmet(await opened(bench, page="/box.html", sees=[TEXT])) == {}
        assert unmet(await opened(bench, page="/drawn.html", sees=[TEXT, "In a field"])) == {}


@needs_chromium
@pytest.mark.slow
@pytest.mark.spec("LAW-1", "DAY-3")
async def test_text_that_a_style_sheet_writes_is_not_hidden(tmp_path: Path) -> None:
    style = "<style>.old::before { content: 'Free points' } .new::after { content: ' +' }</style>"
    liar, honest = f"{style}<p>{TEXT}</p><p class='old'></p>", f"{style}<p class='new'>{TEXT}</p>"
    async with at(tmp_path, {"liar.html": liar, "honest.html": honest}) as bench:
        expected = {"sees": [TEXT], "hides": ["Free points"]}
        assert unmet(await opened(bench, page="/liar.html", **expected)) == {'hides "Free points"': "hides"}
        assert unmet(await opened(bench, page="/honest.html", **expected)) == {}
