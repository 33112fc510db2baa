"""A small kit for texts."""
