"""The clean room: a fresh checkout with frozen files, an interpreter and the services that checks need."""
