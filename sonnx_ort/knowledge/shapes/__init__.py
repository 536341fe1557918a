"""What is certain of the shapes of values: a list of operators that were verified, and no other."""
