"""The process around one agent call: it holds the call's lock, keeps the agent within limits, and writes the report.

It outlives the engine that started it. Nothing here imports pydantic, because a supervisor has to start quickly.
"""
