"""Evaluates the profile's rules on a model: obligations, reports and waivers."""
