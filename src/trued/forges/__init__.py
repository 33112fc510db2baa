"""Forges: where pull requests are offered, one file each."""
