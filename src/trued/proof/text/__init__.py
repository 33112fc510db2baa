"""Readers of source texts and command lines: what code imports, names and starts. They run nothing."""
