"""The process around one agent call: it holds the call's lock, keeps the agent in bounds, and leaves a report.

It outlives the engine that started it. Nothing here imports pydantic: a supervisor has to be there in a blink.
"""
