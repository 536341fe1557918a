"""Models that nobody here wrote, from packages of the registry: got, fed, compared and timed."""
