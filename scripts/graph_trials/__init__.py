"""A recorded campaign of random graphs."""
