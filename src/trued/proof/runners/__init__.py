"""Test runners whose results are counted per test id, one module each."""
