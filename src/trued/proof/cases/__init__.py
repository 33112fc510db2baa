"""Decides which cases of agents count. A case must start the project's own code, and a program that does nothing useful
must not pass it."""
