// Keeps the open page in step with the journal.
