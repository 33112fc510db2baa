"""Lints the structure of agent files: rules with ids, applied to a set of files; a finding has file, line and a
sentence."""
