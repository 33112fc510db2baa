"""Detects what kind of project a commit contains."""
