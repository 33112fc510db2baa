"""Programs that run inside a sandbox, each as a file of its own: they import nothing of trued."""
