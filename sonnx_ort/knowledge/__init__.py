"""Static analysis of a graph's values: types, shapes, bounds and constants."""
