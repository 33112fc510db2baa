"""The command `verify`: checks any commit against requirements, without an agent."""

import asyncio
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from trued.cli.context import AsJson, check_writable, top_of
from trued.cli.format import line
from trued.cli.ledger import explain
from trued.cli.terminal import hint, home, out, print_json
from trued.cli.verification_lines import VerifyProgress, advice, verdict_lines
from trued.engine.last_verification import LastVerification, save_verification
from trued.engine.signals import stop_on_signals
from trued.engine.verification_log import VerificationLog, VerificationRecord
from trued.errors import BadInput
from trued.inputs.settings.folders import user_config
from trued.inputs.settings.loader import load_settings
from trued.model import Grade
from trued.reporting.views.verification import Verification, verification_data
from trued.support import atomic_files

if TYPE_CHECKING:  # at run time, only the functions that need these modules import them, so that help stays quick
    from trued.engine.receipts import ReceiptCheck
    from trued.engine.verify import VerifyRequest, VerifyResult

app = typer.Typer(rich_markup_mode=None)

WHERE = "REPO[@REV]"
STDOUT = Path("-")


@app.command()
def verify(  # noqa: PLR0913 - one parameter per option
    receipt: Annotated[
        Path | None, typer.Argument(metavar="[RECEIPT]", help="Check a receipt, not a commit.", show_default=False)
    ] = None,
    base: Annotated[
        str, typer.Option(metavar=WHERE, help="The commit that the work starts from. Default: where its branch began.")
    ] = "",
    head: Annotated[
        str, typer.Option(metavar=WHERE, help="The commit to check. Default: this repository's HEAD.")
    ] = "",
    requirements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML, YAML, JSON or Markdown file, or a folder of the repository."
            " Default: all requirements in the repository.",
            show_default=False,
        ),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="GRADE",
            help="The lowest grade that counts as met: tested, examined, attested or proven.",
            show_default=False,
        ),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Sandbox: auto, bubblewrap, landlock or none.", show_default=False),
    ] = None,
    allow_unsandboxed: Annotated[
        bool,
        typer.Option("--allow-unsandboxed", help="Allow the sandbox level none, at which checks are not confined."),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Run every check only once on the head, for a pre-commit hook; grades are `tested` at most."
        ),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.", show_default=False)
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write Markdown, for a pull request; - for stdout.", show_default=False),
    ] = None,
    keep_receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Also write a receipt.", show_default=False)
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the contract bundle here; with RECEIPT: read it from here.", show_default=False
        ),
    ] = None,
    why: Annotated[
        str, typer.Option(metavar="REQUIREMENT", help="Show all evidence for this requirement.", show_default=False)
    ] = "",
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With RECEIPT: the public key that must have signed the receipt.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check any commit against requirements. Needs no agent and no key, and writes to no repository.

    A commit is REPO[@REV], or a revision of this repository. Exit code 0: every requirement is met. 1: not proven.
    3: nothing failed, but it is not proven. 6: could not judge.
    """
    if receipt is not None and not receipt.is_file():
        raise BadInput(f"there is no receipt {receipt}", then=f"to check a branch or commit, use --head {receipt}")
    if receipt is not None:
        decided = {"--base": base, "--requirements": requirements, "--accept": accept, "--quick": quick}
        outputs = {"--junit": junit, "--markdown": markdown, "--receipt": keep_receipt, "--why": why}
        _refuse_without_effect({**decided, **outputs}, "with a receipt")
        how = {"--head": head, "--sandbox": sandbox, "--allow-unsandboxed": allow_unsandboxed}
        _refuse_without_effect({} if bundle else how, "without --bundle: with a receipt alone, nothing is run")
        checked = CheckedReceipt(receipt, bundle, Path(head or Path.cwd()), key, sandbox or "auto", allow_unsandboxed)
        raise typer.Exit(_check_receipt(checked, as_json=as_json))
    _refuse_without_effect({"--key": key}, "without a receipt")
    _check_outputs({"--junit": junit, "--markdown": markdown}, as_json=as_json)
    if quick and (keep_receipt or bundle):
        flag = "--receipt" if keep_receipt else "--bundle"
        raise BadInput(f"{flag} does not work with --quick", then="leave out --quick")
    check_writable(keep_receipt, "--receipt")
    flags = {"accept": accept, "sandbox": sandbox, "allow_unsandboxed": allow_unsandboxed or None}
    request = _request(base, head, requirements, flags).model_copy(update={"quick": quick})
    raise typer.Exit(_verify_and_print(request, VerdictOutputs(junit, markdown, keep_receipt, bundle, why, as_json)))


def _refuse_without_effect(options: Mapping[str, object], where: str) -> None:
    """Refuse the first of these options that was given: it would have no effect. `where` says when, such as "without a
    receipt"."""
    if ineffective := [flag for flag, value in options.items() if value]:
        raise BadInput(f"{ineffective[0]} has no effect {where}", then=f"leave out {ineffective[0]}")


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt to check. With a bundle, the receipt's statement is proven again in a clone.

    Only the command's options select the sandbox. Other people wrote the bundle's commands, so the user's settings must
    not weaken their sandbox.
    """

    path: Path
    bundle: Path | None
    repository: Path  # a clone that contains the commits
    key: Path | None  # the public key that must have signed it
    sandbox: str
    allow_unsandboxed: bool


def _check_outputs(files: Mapping[str, Path | None], *, as_json: bool) -> None:
    """Before any check runs, refuse two outputs on stdout, and files that cannot be written."""
    wanting = [*(["--json"] if as_json else []), *(f"{flag} -" for flag, path in files.items() if path == STDOUT)]
    if len(wanting) > 1:
        raise BadInput(f"{' and '.join(wanting[:2])} both write to stdout", then="write one of them to a file")
    for flag, path in files.items():
        check_writable(None if path == STDOUT else path, flag)


@dataclass(frozen=True, slots=True)
class VerdictOutputs:
    """Where and in which formats the verdict is written."""

    junit: Path | None
    markdown: Path | None
    receipt: Path | None
    bundle: Path | None
    why: str
    as_json: bool


def _request(base: str, head: str, requirements: Path | None, flags: Mapping[str, Any]) -> "VerifyRequest":
    """The request, with the user's own settings: a repository cannot choose how strictly it is checked. This also
    starts threads that try the sandbox and look for the interpreter."""
    from trued.engine.machine_probes import begin_probes

    settings = load_settings(flags, os.environ, None, user_config(os.environ))
    begin_probes(settings.sandbox, allow_unsandboxed=settings.allow_unsandboxed)
    from trued.engine.verify import VerifyRequest  # this import takes as long as the probes, which run meanwhile

    return VerifyRequest(
        base=base,
        head=head,
        requirements_file=requirements,
        accept=settings.accept,
        sandbox=settings.sandbox,
        allow_unsandboxed=settings.allow_unsandboxed,
        here=Path.cwd(),
    )


def _verify_and_print(request: "VerifyRequest", outputs: VerdictOutputs) -> int:
    began = time.time()
    with VerifyProgress() as progress:
        done = asyncio.run(_run_verification(request, progress))
    verification = Verification(
        done.contract, done.verdict, done.outcome, request.accept, _reproduce_command(request, done)
    )
    save_verification(home(), _last_verification(request, done, verification))
    VerificationLog(home()).add(_verification_record(request, done, verification, began))
    _write_outputs(verification, outputs)
    if outputs.receipt or outputs.bundle:
        from trued.engine.receipts import ReceiptRequest, write_receipt

        named = request.requirements_file
        requirements_file = None if named and named.is_dir() else named
        keeping = ReceiptRequest(
            receipt=outputs.receipt, bundle=outputs.bundle, accept=request.accept, asked=requirements_file
        )
        asyncio.run(write_receipt(done.contract, done.verdict, keeping, repository=done.places[0], home=home()))
    if outputs.as_json:
        print_json(verification_data(verification))
    elif outputs.why:
        explain(verification, outputs.why)
    elif STDOUT not in (outputs.markdown, outputs.junit):
        verdict_lines(verification, done.places[1].name)
        for sentence in advice(verification):
            hint(sentence)
    return verification.code


def _write_outputs(verification: Verification, outputs: VerdictOutputs) -> None:
    if not (outputs.junit or outputs.markdown):
        return
    from trued.reporting.views.junit import junit
    from trued.reporting.views.markdown import markdown

    for path, render in ((outputs.junit, junit), (outputs.markdown, markdown)):
        if path == STDOUT:
            print(render(verification), end="")
        elif path is not None:
            atomic_files.write(path, render(verification), sync=False)


async def _run_verification(request: "VerifyRequest", progress: VerifyProgress) -> "VerifyResult":
    from trued.engine.verify import verify as verify_commits

    with stop_on_signals():
        return await verify_commits(request, home=home(), environ=os.environ, tell=progress.show)


def _check_receipt(receipt: CheckedReceipt, *, as_json: bool) -> int:
    """Check a receipt, print the result, and return the exit code."""

    from trued.engine.receipts import check_receipt

    async def check_again() -> "ReceiptCheck":
        with stop_on_signals():
            return await check_receipt(
                receipt.path,
                bundle=receipt.bundle,
                repository=receipt.repository,
                key=receipt.key,
                sandbox=receipt.sandbox,
                allow_unsandboxed=receipt.allow_unsandboxed,
                home=home(),
                tell=progress.show,
            )

    with VerifyProgress() as progress:
        result = asyncio.run(check_again())
    if as_json:
        print_json(result.data())
    else:
        for sentence in result.said:
            out().print(Text(line(sentence)), soft_wrap=True)
    return result.code


def _reproduce_command(request: "VerifyRequest", done: "VerifyResult") -> str:
    """The command that reproduces the verdict: a short one for this repository if both commits are in it; otherwise one
    with full paths, which works in any folder of this machine."""
    base, head = done.places
    is_here = base == head == top_of(request.here)
    sides = ("", "") if is_here else (f"{base}@", f"{head}@")
    file = request.requirements_file
    command = [
        "trued",
        "verify",
        "--base",
        f"{sides[0]}{done.contract.base}",
        "--head",
        f"{sides[1]}{done.verdict.commit}",
    ]
    command += ["--requirements", str(file if is_here else file.absolute())] if file else []
    command += ["--accept", str(request.accept)] if request.accept is not Grade.ATTESTED else []
    command += ["--sandbox", request.sandbox] if request.sandbox != "auto" else []
    command += ["--allow-unsandboxed"] if request.allow_unsandboxed else []
    command += ["--quick"] if request.quick else []
    return shlex.join(command)


def _verification_record(
    request: "VerifyRequest", done: "VerifyResult", verification: Verification, began: float
) -> VerificationRecord:
    rows = done.verdict.requirements
    return VerificationRecord(
        at=time.time(),
        seconds=round(max(0.0, time.time() - began), 3),
        repository=str(done.places[1]),
        base=done.contract.base,
        head=done.verdict.commit,
        state=done.outcome.state,
        grade=done.outcome.grade,
        code=verification.code,
        met=sum(row.grade.is_met(request.accept) for row in rows),
        requirements=len(rows),
        accept=request.accept,
        requirements_file=str(request.requirements_file.absolute()) if request.requirements_file else "",
        quick=request.quick,
    )


def _last_verification(request: "VerifyRequest", done: "VerifyResult", verification: Verification) -> LastVerification:
    return LastVerification(
        at=time.time(),
        places=tuple(map(str, done.places)),
        requirements_file=str(request.requirements_file or ""),
        reproduce=verification.reproduce,
        accept=request.accept,
        contract=done.contract,
        verdict=done.verdict,
    )
