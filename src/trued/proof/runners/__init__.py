"""Test runners, one module each. Each reports its results by test id."""
