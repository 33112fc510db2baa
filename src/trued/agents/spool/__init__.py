"""The engine's side of agent calls. Each call has a folder and a supervisor that outlives the engine."""
