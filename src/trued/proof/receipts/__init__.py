"""Receipts: a verdict as a file that others can check, and the contract bundled with it."""
