"""The kinds of checks, one module each: tests, examples (calls, command lines, HTTP), commands, and pages."""
