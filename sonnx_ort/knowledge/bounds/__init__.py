"""Bounds (intervals) of the integer values of a model."""
