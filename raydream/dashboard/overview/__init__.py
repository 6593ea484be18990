"""All runs in one list."""
