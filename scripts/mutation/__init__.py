"""Mutants of the package, and the tests that tell them from it."""
