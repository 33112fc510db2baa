"""Notifies a person of waits, ends, limits and refutations of runs."""
