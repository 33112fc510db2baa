"""Who works: adapters of agent programs, the supervisor around each call, the spool between them, and roles."""
