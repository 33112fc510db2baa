"""Counts words."""
