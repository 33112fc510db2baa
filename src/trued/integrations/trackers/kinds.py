"""Tell bugs from features by a tracker's types and labels."""

import re
from collections.abc import Iterable

_BUGS = "bug bugs bugfix fix hotfix defect regression incident problem broken"
_FEATURES = "feature features feat enhancement enhancements story improvement request epic new"
BUGS, FEATURES = frozenset(_BUGS.split()), frozenset(_FEATURES.split())


def issue_kind(type_: str, labels: Iterable[str] = ()) -> str:
    """bug | feature | "". The type takes precedence over labels. If there are labels of both kinds, labels do not
    count."""
    for words in (_lowercase_words(type_), {word for label in labels for word in _lowercase_words(label)}):
        bug, feature = bool(words & BUGS), bool(words & FEATURES)
        if bug != feature:
            return "bug" if bug else "feature"
    return ""


def _lowercase_words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))
