"""Which packages a change needs: what its manifests declare, what its files load, and what the base has already."""
