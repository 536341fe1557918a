"""Where two models differ: both run on the same inputs, value by value."""
