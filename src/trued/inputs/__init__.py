"""Reads what people write, one folder for each kind of input: plans, tickets, requirements, settings. Finds out how a
project is built and tested."""
