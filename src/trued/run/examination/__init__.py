"""Examination: agents that write held-out cases for a contract, and the base's own tests as regression checks."""
