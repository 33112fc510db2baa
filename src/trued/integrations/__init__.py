"""Clients for forges and trackers: addresses, tokens, and one sentence for each refusal."""
