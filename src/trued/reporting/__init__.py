"""What people read about a run: views of its journal, and one HTML file."""
