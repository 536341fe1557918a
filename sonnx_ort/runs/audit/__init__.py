"""`audit`: every node of a run against what its operator means."""
