"""Runs of models: their inputs, values and limits, and what they are compared with."""
