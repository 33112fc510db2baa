"""Proof: contracts sealed before work starts, evidence that the engine takes itself, and the verdict that follows.

Start at `seal` (words to contract), `prove` (commit to evidence) and `judge` (evidence to grade).
"""
