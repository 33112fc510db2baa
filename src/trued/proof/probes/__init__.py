"""Programs that run inside a sandbox. Each is one self-contained file that imports no module of trued."""
