"""Brings a model into the profile, by changes that leave every result as it is."""
