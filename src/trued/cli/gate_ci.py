"""`trued gate ci`: the gate as a CI step. It keeps no state, and on GitHub it writes annotations and a summary."""

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from trued.cli.context import AsJson
from trued.cli.options import AcceptOption, RepositoryOption
from trued.cli.terminal import err, hint, home, print_json
from trued.engine.verify import VerifyRequest, verify
from trued.engine.worktree import Checkout, open_checkout
from trued.errors import BadInput
from trued.gate.messages import headline, reasons
from trued.gate.state import terms_hash
from trued.inputs.requirements.file import load_requirements
from trued.inputs.settings.folders import user_config
from trued.inputs.settings.loader import load_settings
from trued.reporting.views.junit import gate_junit
from trued.reporting.views.ledger import ledger_for_agents
from trued.reporting.views.markdown import gate_summary
from trued.support.plain_text import plain
from trued.workspace.git.removal import remove_tree_now

if TYPE_CHECKING:
    from trued.model.events import JournalEvent

VARIABLE = "TRUED_REQUIREMENTS"


def ci(  # noqa: PLR0913 - each is a flag
    base: Annotated[str, typer.Option(metavar="REV", help="The branch that the work is merged into.")],
    head: Annotated[str, typer.Option(metavar="REV", help="The commit to check.")] = "HEAD",
    requirements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"The requirements file; without it, the text in ${VARIABLE}.", show_default=False
        ),
    ] = None,
    accept: AcceptOption = None,
    terms: Annotated[
        str,
        typer.Option(
            metavar="HASH",
            help="Hash of the sealed requirements; a file with another hash is refused.",
            show_default=False,
        ),
    ] = "",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.", show_default=False)
    ] = None,
    summary_file: Annotated[
        Path | None,
        typer.Option("--summary", metavar="FILE", help="Also write the verdict as Markdown.", show_default=False),
    ] = None,
    repo: RepositoryOption = Path(),
    as_json: AsJson = False,
) -> None:
    """Check in CI what merging a commit into the base would give. On GitHub it adds annotations and a summary."""
    checkout = open_checkout(repo, os.environ)
    tip, work = _commit(checkout, base), _commit(checkout, head)
    settings = load_settings({"accept": accept}, os.environ, None, user_config(os.environ))
    with _requirements_file(checkout, tip, requirements) as file, _merged(checkout, tip, work) as result:
        if terms and terms_hash(load_requirements(file)) != terms:
            then = "run `trued gate amend` and commit the new workflow"
            raise BadInput("the requirements differ from the sealed ones", "--terms", then)
        request = VerifyRequest(
            base=tip,
            head=result,
            requirements_file=file,
            accept=settings.accept,
            sandbox=settings.sandbox,
            allow_unsandboxed=settings.allow_unsandboxed,
            here=checkout.root,
        )
        done = asyncio.run(verify(request, home=home(), environ=os.environ, tell=drop_event))
    data, sentence = ledger_for_agents(done.verdict, done.contract), headline(done.outcome, settings.accept)
    if as_json:
        print_json({**data, "state": done.outcome.state})
    lines = [] if done.outcome.state == "done" else reasons(done.verdict, settings.accept)
    for line in (f"trued gate: {sentence}", *(f"  {reason}" for reason in lines)):
        err().print(Text(plain(line)), soft_wrap=True)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        if not as_json:
            _annotate("notice" if done.outcome.state == "done" else "error", sentence, lines)
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            _append_summary(Path(path), gate_summary(sentence, data))
    if junit:
        _write(junit, gate_junit(sentence, data, settings.accept))
    if summary_file:
        _write(summary_file, gate_summary(sentence, data))
    raise typer.Exit(done.code)


@contextmanager
def _merged(checkout: Checkout, tip: str, work: str) -> Iterator[str]:
    """Yield the commit to check: `work` merged into `tip`, because the base may have gained tests since the work began.

    If one of the two commits contains the other, the containing one is checked. If they have no common history, `work`
    is checked; in a shallow clone, which may hide a common history, BadInput is raised instead. Otherwise the two are
    merged in a temporary repository.
    """
    start = checkout.common_base(tip, work)
    if not start and checkout.is_shallow:
        what = f"{work[:12]} and {tip[:12]} have no commit in common in this shallow clone"
        raise BadInput(what, then="fetch more history (actions/checkout: fetch-depth: 0)")
    if start in ("", tip, work):
        yield tip if start == work else work
        return
    merged_store = home() / "ci" / f"merged-{secrets.token_hex(6)}.git"
    try:
        commit = asyncio.run(checkout.merged(merged_store, tip, work))
        hint(f"trued gate: {work[:12]} is behind {tip[:12]}: the result of merging both is checked")
        yield f"{merged_store}@{commit}"
    finally:
        remove_tree_now(merged_store)


@contextmanager
def _requirements_file(checkout: Checkout, base: str, named: Path | None) -> Iterator[Path]:
    """Yield the requirements file: `named`, or a temporary file with the text in $TRUED_REQUIREMENTS.

    Raises BadInput if there is neither, or if `named` is in the repository and differs from the version of `base`.
    """
    if named is not None:
        if (path := named.resolve()).is_relative_to(checkout.root):
            _check_unchanged(checkout, base, path)
        yield named
        return
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        raise BadInput(
            "no requirements are given", then=f"pass --requirements FILE, or set {VARIABLE} to the text of such a file"
        )
    folder = home() / "ci"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    suffix = ".json" if text.lstrip().startswith("{") else ".yaml"
    file = folder / f"requirements-{secrets.token_hex(6)}{suffix}"
    try:
        file.write_text(text, encoding="utf-8")
        yield file
    finally:
        file.unlink(missing_ok=True)


def _check_unchanged(checkout: Checkout, base: str, path: Path) -> None:
    """Refuse a requirements file that is in the repository and differs from the base's: the work must not change it."""
    name = path.relative_to(checkout.root).as_posix()
    known = checkout.read(base, name)
    if not path.is_file() or known != path.read_bytes():
        then = f"pass the base's version: write `git show {base[:12]}:{name}` to a file outside the repository"
        raise BadInput(f"{name} differs from the base {base[:12]}", then=then)


def _commit(checkout: Checkout, name: str) -> str:
    for candidate in (name, f"origin/{name}"):
        if commit := checkout.named_commit(candidate):
            return commit
    raise BadInput(f"{checkout.root} has no commit {name!a}", then="fetch it: CI often checks out the last commit only")


def _annotate(level: str, sentence: str, lines: list[str]) -> None:
    """Print the verdict and its reasons as commands that GitHub shows as annotations."""
    print(f"::{level} title=trued gate::{_escape(sentence)}")
    for line in lines:
        print(f"::error title=trued gate::{_escape(line)}")


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", then="pass a file in a folder that exists") from None


def _append_summary(path: Path, content: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(content + "\n")
    except OSError as error:
        hint(f"cannot write the summary: {error.strerror}")


def _escape(content: str) -> str:
    """Escape text for a GitHub workflow command, so that the text cannot start another command."""
    return plain(content).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def drop_event(event: "JournalEvent") -> None:
    """Ignore the event: hooks and the CI log show only the verdict."""
