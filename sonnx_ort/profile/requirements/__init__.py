"""The demands that rules are made of, each with its static and its run-time decision."""
