"""A tuning to look at: its figures and its page."""
