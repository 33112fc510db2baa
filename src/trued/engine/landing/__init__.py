"""Brings a finished run onto the user's branch."""
