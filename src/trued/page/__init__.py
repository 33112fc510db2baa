"""The live page: watch runs, judge them, steer them. It shows the journal and records what people decide; it never
drives a run."""
