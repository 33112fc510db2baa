"""The live page: watch runs, judge them, steer them. It shows the journal and records what people decide. It never does
the work of a run."""
