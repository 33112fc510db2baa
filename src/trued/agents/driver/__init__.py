"""What the adapters share: start an agent program, follow its events, and turn them into a report."""
