"""What people are shown about a run, computed only from its journal."""
