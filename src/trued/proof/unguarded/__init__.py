"""Searches for what no check would notice in a change. Requirements are `tested` at most if a search finds something.

Each search is one file, named like the reason that people then read (`proof/verdict/reasons.py`). It is a function from
a `TriedChange` to what the reason lists. `proof/prove.py` lists reasons and searches in order. `change/` has what
several searches share.
"""
