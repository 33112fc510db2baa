"""The run as a workflow sees it."""
