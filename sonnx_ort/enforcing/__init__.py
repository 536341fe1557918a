"""From a model to one that enforces the profile on itself.

`rewrite.py` leads through the steps; each backend is one file; `failure_channel.py` is how an
enforced model fails.
"""
