"""Files that people read and write: one module per format, which reads and renders it without loss."""
