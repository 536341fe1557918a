"""The evidence record: what was looked at, what was found and what was done, for people to keep."""
