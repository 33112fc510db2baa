"""The kinds of checks, each in a file of its own: `take` runs one of them once."""
