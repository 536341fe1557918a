"""What `scripts/benchmark.py` measures, how, and what it prints."""
