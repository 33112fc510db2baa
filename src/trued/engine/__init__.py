"""The life of a run, from its start to landing; people's decisions; the journal; and `verify`, which needs no run."""
