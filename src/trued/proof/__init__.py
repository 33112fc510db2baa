"""Proof: contracts sealed before work starts, evidence that the engine collects itself, and the verdict they lead to.

Start reading at `prove` (the steps in order); then `seal` (from requirements to a contract), `trial` (from a commit to
evidence) and `verdict/judge` (from evidence to grades).
"""
