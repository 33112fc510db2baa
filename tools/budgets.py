"""Prints what has outgrown the size budgets. They are a smell, not a law: the exit code is always 0."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE_LINES, FUNCTION_LINES, PARAMETERS, COMPLEXITY = 400, 40, 6, 8
NOT_OURS = ("tests/corpus/cases/", "src/trued/cli/demo/files/")
# As ruff and mccabe count them.
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    ours = [line for line in listed.stdout.splitlines() if not line.startswith(NOT_OURS)]
    return sorted(ROOT / line for line in ours if (ROOT / line).exists())


def complexity(function: Function) -> int:
    """McCabe's number: the ways through a function, those of inner functions aside."""
    found, waiting = 1, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            continue
        found += isinstance(node, BRANCHES)
        waiting += ast.iter_child_nodes(node)
    return found


def parameters(function: Function) -> int:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([one for one in given if one.arg not in ("self", "cls")])


def over(path: Path) -> Iterator[str]:
    text = path.read_text()
    name = path.relative_to(ROOT)
    if (lines := text.count("\n")) > FILE_LINES:
        yield f"{name}: {lines} lines (budget {FILE_LINES})"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, Function):
            continue
        sizes = (
            ("lines", (node.end_lineno or node.lineno) - node.lineno + 1, FUNCTION_LINES),
            ("parameters", parameters(node), PARAMETERS),
            ("ways through it", complexity(node), COMPLEXITY),
        )
        for what, size, budget in sizes:
            if size > budget:
                yield f"{name}:{node.lineno} {node.name}: {size} {what} (budget {budget})"


def main() -> None:
    files = sources()
    offenders = [line for path in files for line in over(path)]
    for line in offenders:
        sys.stdout.write(f"over budget: {line}\n")
    sys.stdout.write(f"{len(offenders)} over the size budgets in {len(files)} files\n")


if __name__ == "__main__":
    main()
