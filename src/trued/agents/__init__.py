"""Agent programs: an adapter for each, the supervisor around every call, the spool between them, and the roles they
play."""
