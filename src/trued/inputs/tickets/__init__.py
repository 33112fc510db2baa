"""Reads tickets: files, and issues of trackers."""
