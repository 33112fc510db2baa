"""`python -m trued` is the `trued` command."""

from trued.cli import main

main()
