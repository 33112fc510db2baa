"""Programs that run inside an agent's sandbox. They are started by path and import nothing from this package."""
