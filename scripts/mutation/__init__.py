"""Mutants of the package, by mutmut, and the tests that tell them from it."""
