"""Enforcement by standard operators: what is put in front of a node, and how it is told again."""
