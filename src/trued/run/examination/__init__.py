"""Examination: agents that write held-out cases for a contract, and the tests of the base that guard it."""
