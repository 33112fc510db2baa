"""The SQLite journal, and how a journal is opened."""
