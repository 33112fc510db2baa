"""The live page: watch runs, judge them, steer them. It reads the journal and never drives a run."""
