"""Whether a change needs a package that the base does not have: what its manifests declare, and what its files load."""
