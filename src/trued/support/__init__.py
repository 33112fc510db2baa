"""Small things that know nothing of runs."""
