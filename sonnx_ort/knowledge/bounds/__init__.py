"""Intervals that the integers of a model stay in."""
