"""Which declarations of a Go file a change alters, and which ones tests use."""

import pytest

from trued.proof.reach.altered_go import PACKAGE, altered_declarations, used_declarations

BASE = """package m

import "fmt"

const Top = 1

type Box struct{ n int }

func (b *Box) Save() int { return b.n }

var limit = 5

var table = fill(1)

func Rate() int { return helper() }

func helper() int { return 2 }
"""

NAMES = ("Top", "Box", "Box.Save", "limit", "table", "Rate", "helper")


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
        ('import "fmt"', 'import "evil/fmt"', {PACKAGE}),
        ('import "fmt"', 'import (\n\t"fmt" // prints\n\tx "evil"\n)', {PACKAGE}),
        ('import "fmt"', 'import "fmt"\nimport ."evil"', {PACKAGE}),
        ('import "fmt"', 'import "fmt"\n\n// #include <x.h>\nimport "C"', {PACKAGE, *NAMES}),
        ("func Rate", "var _ I = evil()\n\nfunc Rate", {PACKAGE}),
        ("func Rate", "var Used, secret = 1, 7\n\nfunc Rate", {PACKAGE}),
        ("var limit = 5", "var limit, more = 5, evil()", {"limit", PACKAGE}),
        ("var limit = 5", "var limit = 6", {"limit"}),
        ("var limit = 5", "var limit = evil()", {"limit", PACKAGE}),
        ("var limit = 5", "var limit =\nfunc (a int) int { return evil() }(3)", {"limit", PACKAGE}),
        ("fill(1)", "fill(2)", {"table", PACKAGE}),
        ("return 2 }", "return 2 }\n func init() { evil() }", {PACKAGE}),
        ("return 2 }", "return 2 }; func init() { evil() }", {PACKAGE}),
        ("return 2 }", "return 2 } /*\n*/ func init() { evil() }", {PACKAGE}),
        ("return 2 }", "return 2 } //go:noinline\nfunc init() { evil() }", {PACKAGE}),
        ("return 2 }", "return 2 //go:linkname now time.now\n}", {"helper", PACKAGE}),
        (
            "func helper() int { return 2 }",
            "/*\nfunc helper() int { return 2 }\n*/ func helper() int { return 3 }",
            {"helper"},
        ),
        ("func Rate", "func int64(v int) int { return v }\n\nfunc Rate", {PACKAGE}),
        ("func Rate", 'func (b * Box) String() string { return "" }\n\nfunc Rate', {"Box"}),
        ("func Rate", 'func (b*Box) String() string { return "" }\n\nfunc Rate', {PACKAGE}),
        ("func Rate", "type B = Box\n\nfunc Rate", {PACKAGE}),
        ("func Rate", "// Rate says `how much.\nfunc Rate", set()),
        ("func Rate", "type Bag struct{ n int }\n\nfunc (b Bag) Size() int { return b.n }\n\nfunc Rate", set()),
        ("return helper()", "return helper() +\n\t\tlen(`\nfunc init() {}\n`)", {"Rate"}),
    ],
)
def test_what_a_change_alters(old: str, new: str, altered: set[str]) -> None:
    assert altered_declarations(BASE, BASE.replace(old, new)) == altered


@pytest.mark.spec("LAW-6", "LAW-11")
@pytest.mark.parametrize(
    ("text", "altered"),
    [
        ('// Says more.\npackage m\n\nimport "os"\n\nfunc More() string { return os.Args[0] }\n', set()),
        ("package m\n\nfunc init() { evil() }\n", {PACKAGE}),
        ("package m\n\nfunc len(x []int) int { return 1 }\n", {PACKAGE}),
        ('package m\n\nfunc (b Box) String() string { return "" }\n', {"Box"}),
        ("package m\n\nvar more = 1\n", {PACKAGE}),
        ('package m\n\nimport _ "evil"\n', {PACKAGE}),
        ("//go:build never\n\npackage m\n", {PACKAGE}),
    ],
)
def test_what_a_new_file_alters(text: str, altered: set[str]) -> None:
    assert altered_declarations("", text) == altered


@pytest.mark.spec("LAW-6", "LAW-11")
def test_strings_and_comments_use_nothing() -> None:
    test = 'package m\n\nfunc TestBox(t *testing.T) {\n\t// not Rate\n\tt.Run("helper", one)\n}\n'
    used = used_declarations({"m.go": BASE, "m_test.go": test}, ["m_test.go::TestBox"])
    assert "one" in used
    assert used.isdisjoint({"Rate", "helper"})


@pytest.mark.spec("LAW-6")
def test_what_tests_use() -> None:
    test = "package m\n\nfunc TestRate(t *testing.T) { Rate() }\n\nfunc TestBox(t *testing.T) { Box{}.Save() }\n"
    texts = {"m.go": BASE, "m_test.go": test}
    assert {"Rate", "helper"} <= used_declarations(texts, ["m_test.go::TestRate"])
    assert used_declarations(texts, ["m_test.go::TestRate"]).isdisjoint({"Box", "Save"})
    assert {"Box", "Save"} <= used_declarations(texts, ["m_test.go::TestBox/one"])
