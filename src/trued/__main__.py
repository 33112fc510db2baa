"""`python -m trued` is the `trued` command."""

from .cli import main

main()
