"""A story of a Go project: one sentence, held-out cases that `go run` answers, and the work lands or does not."""

import shutil
from pathlib import Path

import pytest

from tests.gangs.trial import Place, Trial
from trued.model import Grade

GOAL = "`go run .` prints the number of words on its standard input"
BASE = {
    "go.mod": "module example.org/tally\n\ngo 1.19\n",
    "main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("lines:", Lines("a\\nb\\n"))\n}\n',
    "lines.go": 'package main\n\nimport "strings"\n\nfunc Lines(s string) int { return strings.Count(s, "\\n") }\n',
    "lines_test.go": 'package main\n\nimport "testing"\n\nfunc TestLines(t *testing.T) {\n\tif Lines("a\\n") != 1 {\n'
    '\t\tt.Error("wrong")\n\t}\n}\n',
}
AGENTS = '''
WORK = """package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Split(bufio.ScanWords)
	words := 0
	for scanner.Scan() {
		words++
	}
	fmt.Println(words)
}
"""
CASES = (("a b c\\n", "3\\n"), ("", "0\\n"), ("one\\ntwo  three four\\n", "4\\n"))
CLAIM = {"implemented": ["it counts words"], "files": [{"path": "main.go", "what": "counts"}]}


def examiner(order, folder):
    quoted = "prints the number of words on its standard input"
    runs = [{"run": ["go", "run", "."], "stdin": given, "stdout": out, "quotes": quoted} for given, out in CASES]
    return {"cases": [{"requirement": "goal", "cases": [one]} for one in runs], "interface": ["go run ."]}


def honest(order, folder):
    (folder / "main.go").write_text(WORK)
    return CLAIM


def liar(order, folder):
    (folder / "main.go").write_text(WORK.replace("words++", "words += 2"))
    return CLAIM


def breaker(order, folder):
    """Does the work, and breaks what the existing test holds."""
    (folder / "lines.go").write_text("package main\\n\\nfunc Lines(text string) int { return 0 }\\n")
    return honest(order, folder)


def idle(order, folder):
    return CLAIM
'''
ENDS = {
    "honest": (3, Grade.EXAMINED),
    "liar": (1, Grade.REFUTED),
    "breaker": (1, Grade.REFUTED),
    "idle": (1, Grade.REFUTED),
}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder for all of them: the standard library of Go is compiled once."""
    return tmp_path_factory.mktemp("state")


@pytest.mark.slow
@pytest.mark.spec("DAY-2", "DAY-9", "LAW-1")
@pytest.mark.parametrize("who", ENDS)
def test_a_go_module_goes_from_one_sentence_to_landed_for_honest_work_alone(
    who: str, state: Path, tmp_path: Path
) -> None:
    if not shutil.which("go"):
        pytest.skip("NO GO HERE: the story of a Go project was not played")
    place = Place(tmp_path, Trial(who, "solo", [GOAL], BASE))
    place.state = state
    agents = tmp_path / "agents.py"
    agents.write_text(AGENTS)
    scripted = ("--agent", f"scripted:{agents}", "--agent", f"solo=scripted:{agents}#{who}")
    ended = place.trued("run", GOAL, *scripted, "--yes", "--json")
    assert (ended.code, ended.grade) == ENDS[who], ended.said
    run = ended.record["id"]
    if who == "honest":
        approved = place.trued("approve", run, "--as", "Ann", "--reason", "I read the cases", "--json")
        assert (approved.code, approved.grade) == (0, Grade.PROVEN), approved.said
    assert (place.trued("land", run).code == 0) is (who == "honest")
    assert ("bufio" in place.git("show", "main:main.go")) is (who == "honest")
