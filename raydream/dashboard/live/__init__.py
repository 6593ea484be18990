"""One run, followed while it lasts."""
