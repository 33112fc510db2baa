"""Escapes invisible and look-alike characters in texts that a person approves."""

import re
import unicodedata
from collections.abc import Iterator

from trued.support.lazy_regex import lazy_regex

# Characters that Python calls printable, although a terminal or browser shows nothing or a blank for them.
_BLANK = lazy_regex("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_FOREIGN = lazy_regex("[\u0370-\u052f]")  # Greek and Cyrillic
_LOOK_ALIKES = frozenset("аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅԌԚԜονιγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
_WORD = lazy_regex(r"\w+")


def visible(text: str) -> str:
    """The text with an escape such as `\\u200b` in place of each deceptive character: an invisible one, an unusual
    blank, or one that only looks like an ASCII character or like a letter of a Latin word."""
    if text.isascii() and text.isprintable():
        return text
    # A Greek or Cyrillic letter that looks like no Latin one shows that the text really is Greek or Cyrillic.
    only_look_alikes = set(_FOREIGN.findall(text)) <= _LOOK_ALIKES

    def written(word: re.Match[str]) -> str:
        read_as_latin = only_look_alikes or re.search("[A-Za-z]", word[0])
        return _FOREIGN.sub(lambda match: _escape(match[0]), word[0]) if read_as_latin else word[0]

    return "".join(_characters(_WORD.sub(written, text)))


def visible_lines(text: str) -> str:
    """A text of many lines, such as a diff, with `visible` applied to each line. Tabs stay; line ends become `\\n`."""
    return "\n".join("\t".join(map(visible, line.removesuffix("\r").split("\t"))) for line in text.split("\n"))


def _characters(text: str) -> Iterator[str]:
    before = ""
    for character in text:
        yield (
            _escape(character)
            if (not character.isascii() and _is_deceptive(before, character)) or not character.isprintable()
            else character
        )
        before = character


def _is_deceptive(before: str, character: str) -> bool:
    """Whether the character is invisible, stands for an ASCII character, or is an accent after a letter although the
    letter exists with this accent as one character."""
    if character == "\ufe0f" and before and unicodedata.category(before) == "So":
        return False  # harmless: it shows the symbol before it as an emoji
    ordinary = unicodedata.normalize("NFKC", character)
    joined = (
        bool(before) and unicodedata.combining(character) and len(unicodedata.normalize("NFC", before + character)) == 1
    )
    stands_for_ascii = len(ordinary) == 1 and ordinary.isascii() and unicodedata.east_asian_width(character) != "F"
    return bool(_BLANK.match(character) or joined or stands_for_ascii)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
