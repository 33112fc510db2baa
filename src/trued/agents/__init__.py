"""Agent programs: an adapter for each, the supervisor around every call, the spool between engine and supervisors, and
the roles that agents play."""
