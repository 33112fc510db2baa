"""Lints the structure of agent files. Rules have ids and apply to a set of files; a finding has a file and a line."""
