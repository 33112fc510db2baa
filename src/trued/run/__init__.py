"""Run, the object that a workflow works with, and its parts."""
