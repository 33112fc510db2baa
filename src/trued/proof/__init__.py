"""Proof: contracts sealed before work starts, evidence that the engine collects itself, and the verdict they lead to.

Start at `seal` (words to contract), `prove` (commit to evidence) and `judge` (evidence to grade).
"""
