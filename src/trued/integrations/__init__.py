"""How other people's houses are spoken to: addresses, tokens, and one sentence for each refusal."""
