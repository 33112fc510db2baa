"""Runs test suites with their own runners, and reports the result of each test by its id."""
