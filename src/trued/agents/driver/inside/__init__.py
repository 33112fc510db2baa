"""Programs of ours that run inside an agent's sandbox, beside it or in its place."""
