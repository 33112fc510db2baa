"""What people read about a run: views of its journal, one HTML file, and notifications."""
