"""Small tools that know nothing of runs."""
