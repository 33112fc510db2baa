"""Lands a finished run on the user's branch, or offers it as a pull request."""
