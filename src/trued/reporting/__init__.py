"""What people read of a run: views of its journal, and one HTML file."""
