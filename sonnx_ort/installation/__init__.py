"""Whether an installation works: its parts, and the bundled models on each backend."""
