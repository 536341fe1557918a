"""`diff` and `repeat`: the values of two runs, against each other."""
