"""The commands `receipt` and `key`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from trued.cli.context import AsJson, RunName, check_writable, open_store, selected_run
from trued.cli.terminal import hint, home, outside_agents, print_json
from trued.errors import BadInput

app = typer.Typer(rich_markup_mode=None)


@app.command()
def receipt(
    run: RunName = None,
    path: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write.", show_default="trued-RUN.receipt.json"),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write the contract here, so anyone can repeat the proof. It contains the held-out cases.",
            show_default=False,
        ),
    ] = None,
    landed: Annotated[
        bool,
        typer.Option(
            "--landed",
            help="Write the receipt for the landed commit if it was proven again; otherwise for the run's own commit.",
        ),
    ] = False,
    unsigned: Annotated[bool, typer.Option("--unsigned", help="Do not sign it, even if there is a key.")] = False,
) -> None:
    """Write a run's final verdict as a file: an in-toto statement that `trued verify FILE` checks.

    It is signed if this machine has a key (`trued key --new`).
    """
    from trued.engine.receipts import ReceiptRequest, write_landing_receipt, write_run_receipt

    check_writable(path, "--output")
    with open_store() as store:
        record = selected_run(store, run)
        target = path or Path(f"trued-{record.id}.receipt.json")
        keeping = ReceiptRequest(receipt=target, bundle=bundle, unsigned=unsigned)
        asyncio.run((write_landing_receipt if landed else write_run_receipt)(store, record.id, keeping))
    print(target)
    hint(f"check it with: trued verify {target}{f' --bundle {bundle}' if bundle else ''}")


@app.command()
def key(
    new: Annotated[bool, typer.Option("--new", help="Create this machine's key; refused if it has one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the public key with which others check this machine's receipts. The private key stays here."""
    from trued.proof.receipts import signing
    from trued.proof.receipts.receipt import key_id

    outside_agents("key")
    key_pair = signing.create_key(home()) if new else signing.own_key(home())
    if key_pair is None:
        raise BadInput("there is no key yet, so receipts are not signed", then="create one with `trued key --new`")
    text = signing.pem(key_pair.public)
    if as_json:
        print_json({"id": key_id(key_pair.public), "public": text, "file": str(signing.key_path(home()))})
    else:
        print(text, end="")
        hint(f"id {key_id(key_pair.public)}; the private key is in {signing.key_path(home())}")
