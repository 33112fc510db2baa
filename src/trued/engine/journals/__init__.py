"""Journals: one module each."""
