"""Compares the runs of two models on the same inputs, value by value."""
