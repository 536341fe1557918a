"""Long use of sessions, and the memory that it leaves."""
