"""Holds the values of a run to the exact meaning of every operator."""
