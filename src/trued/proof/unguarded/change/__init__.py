"""A change that a trial has tried, as the searches for unguarded code see it: what several of them share."""
