"""Which declarations of a Go file a change alters, and which ones tests use."""

import pytest

from trued.proof.altered_go import PACKAGE, altered_declarations, used_declarations

BASE = """package m

import "fmt"

const Top = 1

type Box struct{ n int }

func (b *Box) Save() int { return b.n }

func Rate() int { return helper() }

func helper() int { return 2 }
"""


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("old", "new", "altered"),
    [
        ("return 2", "return 3", {"helper"}),
        ("return b.n", "return 0", {"Box.Save"}),
        ("n int", "n int8", {"Box"}),
        ("Top = 1", "Top = 2", {"Top"}),
        ("func Rate", "func More() int { return 1 }\n\nfunc Rate", set()),
        ('import "fmt"', 'import (\n\t"fmt"\n\t"os"\n)', set()),
        ('import "fmt"', 'import fmt "evil"', {PACKAGE}),
        ("func Rate", "func init() { Top2 = 1 }\n\nfunc Rate", {PACKAGE}),
        ("func Rate", "func len(x int) int { return 1 }\n\nfunc Rate", {PACKAGE}),
        ("func Rate", "var _ = evil()\n\nfunc Rate", {PACKAGE}),
        ("func Rate", 'func (b Box) String() string { return "" }\n\nfunc Rate', {"Box"}),
        ("package m\n", "//go:build never\n\npackage m\n", {PACKAGE}),
    ],
)
def test_what_a_change_alters(old: str, new: str, altered: set[str]) -> None:
    assert altered_declarations(BASE, BASE.replace(old, new)) == altered


@pytest.mark.spec("LAW-6")
def test_what_tests_use() -> None:
    test = "package m\n\nfunc TestRate(t *testing.T) { Rate() }\n\nfunc TestBox(t *testing.T) { Box{}.Save() }\n"
    texts = {"m.go": BASE, "m_test.go": test}
    assert {"Rate", "helper"} <= used_declarations(texts, ["m_test.go::TestRate"])
    assert used_declarations(texts, ["m_test.go::TestRate"]).isdisjoint({"Box", "Save"})
    assert {"Box", "Save"} <= used_declarations(texts, ["m_test.go::TestBox/one"])
