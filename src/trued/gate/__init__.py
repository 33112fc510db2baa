"""The gate: blocks an agent's stop, a push or a CI build until the sealed requirements are met."""
