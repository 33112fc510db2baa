"""Proof: contracts sealed before work starts, evidence that the engine collects itself, and the verdict they lead to.

Start at `seal` (from requirements to a contract), `prove` (from a commit to evidence) and `judge` (from evidence to a
grade).
"""
