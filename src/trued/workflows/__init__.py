"""Workflows: plain async functions with a run in their hand, one file each."""
