"""What is certain of the values of a graph: types, shapes, bounds and constants."""
