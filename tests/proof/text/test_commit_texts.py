"""Every file is read by one decoder: exactly, or as unread. What differs for a tool differs for it."""

import pytest

from trued.proof.reach.altered_python import MODULE, altered_names, new_statements
from trued.proof.text.commit_texts import MOST_CODE_BYTES, as_text, best_reading, decoded, is_unread


def same(text: str) -> tuple[bytes, str]:
    return text.encode(), text


EXACT: dict[str, tuple[bytes, str]] = {
    "UTF-8": ("x = 'é'".encode(), "x = 'é'"),
    "a mark of UTF-8": (b"\xef\xbb\xbf# coding: utf-8\nx", "# coding: utf-8\nx"),
    "latin-1": (b"# coding: latin-1\nx = '\xe9'", "# coding: latin-1\nx = 'é'"),
    "as Emacs says it": (b"# -*- coding: utf-8-unix -*-\nx", "# -*- coding: utf-8-unix -*-\nx"),
    "as vim says it, in the second line": (
        b"#!/bin/sh\n# vim: fileencoding=cp1251 :\n\xe9",
        "#!/bin/sh\n# vim: fileencoding=cp1251 :\nй",
    ),
    "a page": (b'<meta charset="windows-1251">\xe9', '<meta charset="windows-1251">й'),
    "a template": (b'<meta charset="{{ charset }}">', '<meta charset="{{ charset }}">'),
    "a comment about encodings": same("import os\n\n# encoding: the one of the user\n"),
    "code about encodings": same("if a < b:\n    open(c, encoding=d)\n"),
    "a comment that ends with the word": same("# coding:\nimport os\n"),
}
UNREAD = {
    "UTF-7": b"# coding: utf-7\n#+AAo-import numpy\n",
    "unicode_escape": b"#!/bin/sh\n# coding: unicode_escape\n#\\nimport numpy\n",
    "UTF-7, behind another sort of line end": b"\r# coding: utf-7\n#+AAo-import numpy\n",
    "UTF-7, as pip looks for it": b"flask\n# coding:\rutf-7\n#+AAo-numpy\n",
    "two encodings": b"# coding: utf-8\n# coding: latin-1\n",
    "a mark, and another encoding": b"\xef\xbb\xbf# coding: latin-1\n",
    "an unknown encoding": b"# coding: mine\n",
    "no text": b"# coding: rot13\n",
    "a page with escapes": b'<html><meta http-equiv="a" content="text/html; charset=iso-2022-jp">/\x1b(B/',
    "a style sheet": b'@charset "gbk";',
    "bytes of no encoding": b"x = '\xe9'",
    "bytes that the encoding does not have": b"# coding: ascii\n\xe9",
    "UTF-16": "x = 1\n".encode("utf-16"),
    "zeros": b"x\0",
}


@pytest.mark.spec("LAW-6", "DAY-9")
@pytest.mark.parametrize("name", EXACT)
def test_a_text_in_a_plain_encoding_is_exact(name: str) -> None:
    content, text = EXACT[name]
    assert decoded(content) == text


@pytest.mark.spec("LAW-6", "DAY-9")
@pytest.mark.parametrize("name", UNREAD)
def test_what_cannot_be_read_exactly_is_unread_and_altered_as_a_whole(name: str) -> None:
    text = decoded(UNREAD[name])
    assert is_unread(text)
    assert altered_names("def price(): return 1\n", text) == {MODULE}
    assert new_statements("def price(): return 1\n", text) == {MODULE}


@pytest.mark.spec("LAW-6")
def test_different_bytes_are_different_texts() -> None:
    contents = [b"\xe9", b"\xe8", "é".encode(), "\ufffd".encode(), b"\xe9\0", b"\xc3\xa9\0", "é".encode("utf-16")]
    assert len({*map(decoded, contents)}) == len(contents)


@pytest.mark.spec("LAW-6")
def test_a_file_that_is_cut_is_unread_wherever_the_cut_is() -> None:
    for begin in ("", "x"):  # of `é`, the cut leaves both bytes, or one
        text = as_text((begin + "é" * MOST_CODE_BYTES).encode())
        assert is_unread(text)
        assert text.startswith(f"{begin}éé")
    assert not is_unread(as_text(b"x" * MOST_CODE_BYTES))


def test_a_manifest_is_read_as_pip_reads_it() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert best_reading("flask\r\n".encode(encoding), 99) == "flask\r\n"
    assert best_reading(b"# caf\xe9\nflask\n", 99) == "# café\nflask\n"
