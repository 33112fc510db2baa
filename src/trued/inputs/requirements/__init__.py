"""Requirements files."""
