"""The hub: what several machines share, in one Postgres database. Needs `trued[hub]`."""
