"""The structure of agent files: rules with ids over a set of files, each finding with file, line and one sentence."""
