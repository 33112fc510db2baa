"""Command lines of interpreters are read as the interpreters read them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from trued.proof.text.interpreter_lines import read_interpreter_line

SAYS = {
    "go.py": "print(1)\n",
    "go.sh": "echo 1\n",
    "go.js": "console.log(1)\n",
    "go.pl": "print 1\n",
    "kit.py": "print(1)\n",
}


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    ("line", "kind", "name", "rest"),
    [
        ("python -W error go.py a", "script", "go.py", ["a"]),
        ("python -Werror -BX utf8 go.py -m b", "script", "go.py", ["-m", "b"]),
        ("python --check-hash-based-pycs never go.py", "script", "go.py", []),
        ("python -Bm kit -c a", "module", "kit", ["-c", "a"]),
        ("python -mkit a", "module", "kit", ["a"]),
        ("python -Ic 1 a", "code", "1", ["a"]),
        ("python - a", "stdin", "-", ["a"]),
        ("bash -o pipefail go.sh a", "script", "go.sh", ["a"]),
        ("bash -euo pipefail +x go.sh", "script", "go.sh", []),
        ("bash --norc --rcfile go.js -- go.sh", "script", "go.sh", []),
        ("bash -c -e true a", "code", "true", ["a"]),
        ("sh -s a", "stdin", "a", []),
        ("node --require ./go.js --no-warnings go.js a", "script", "go.js", ["a"]),
        ("node --import=./go.js go.js", "script", "go.js", []),
        ("node -pe 1 a", "code", "1", ["a"]),
        ("node --eval=1 a", "code", "1", ["a"]),
        ("perl -I lib -Mstrict -l go.pl a", "script", "go.pl", ["a"]),
        ("perl -lne 1 a", "code", "1", ["a"]),
        ("ruby -I lib -W0 -r json go.rb", "script", "go.rb", []),
    ],
)
def test_what_an_interpreter_starts_follows_its_options(line: str, kind: str, name: str, rest: list[str]) -> None:
    words = line.split()
    started = read_interpreter_line(words)
    assert started is not None
    assert (started.kind, started.name, words[started.words :]) == (kind, name, rest)


@pytest.mark.spec("LAW-5")
def test_what_is_not_known_starts_nothing_known() -> None:
    assert read_interpreter_line(["make", "-C", "x", "all"]) is None
    assert read_interpreter_line([]) is None
    for line in ("python --help go.py", "python -i go.py"):
        started = read_interpreter_line(line.split())
        assert started is not None
        assert started.kind == "unknown", line


@pytest.mark.spec("LAW-5")
@pytest.mark.parametrize(
    "line",
    [
        *("bash -o pipefail go.sh", "bash -euo pipefail go.sh", "bash +o posix go.sh", "bash --rcfile go.js go.sh"),
        *("sh -e go.sh", "node --require ./go.js go.js", "node -C x go.js", "perl -I lib -l go.pl"),
        *("python3 -W error go.py", "python3 -X utf8 go.py", "python3 -BW error -m kit"),
    ],
)
def test_the_interpreters_agree(tmp_path: Path, line: str) -> None:
    words = line.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    for name, text in SAYS.items():
        (tmp_path / name).write_text(text)
    started = read_interpreter_line(words)
    assert started is not None
    assert started.name in ("go.sh", "go.js", "go.pl", "go.py", "kit")
    assert started.words == len(words)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.strip() in (b"1", b"1\n1")
