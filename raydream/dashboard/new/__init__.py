"""The form for a new run."""
