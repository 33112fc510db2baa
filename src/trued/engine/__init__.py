"""Engine: starts, resumes and ends runs; one of the two places where adapters are chosen."""
