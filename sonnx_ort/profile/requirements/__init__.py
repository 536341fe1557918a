"""The requirements of rules, each with a static and a run-time check."""
