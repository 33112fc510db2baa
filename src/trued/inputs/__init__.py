"""Files that people read and write: one module a format, each reads and renders without loss."""
