"""Clients for forges and trackers. They handle addresses and tokens, and turn each refusal into one sentence."""
