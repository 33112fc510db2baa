"""Runners whose results are counted: one file each, and one shape of counting for all of them."""
