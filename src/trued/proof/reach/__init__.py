"""What a change alters, and which code tests and cases reach, as far as the texts show it. Runs nothing."""
