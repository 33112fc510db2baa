"""A page is pieces by element id, made from the journal alone."""

from pathlib import Path

import pytest

from trued.errors import BadInput
from trued.page.pages import PAGES
from trued.page.reader import Reader
from trued.page.render import document


@pytest.mark.spec("PAGE-1")
def test_the_first_page_of_an_empty_state_folder_can_be_read(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    (first,) = [one for one in PAGES if one.path == "/"]
    html = document(first.view(reader, {}), "/")
    assert "<h1>No runs yet</h1>" in html
    reader.close()


@pytest.mark.spec("PAGE-1")
def test_a_run_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    (page,) = [one for one in PAGES if one.path == "/r/{run}"]
    with pytest.raises(BadInput, match="no run"):
        page.view(reader, {"run": "r-none"})
    reader.close()
