"""Reads and writes requirements files, and finds what they leave uncovered."""
