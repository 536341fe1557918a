"""Mutants of the package, by mutmut, and the tests that have to fail on them."""
