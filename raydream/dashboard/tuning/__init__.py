"""The page of tunings."""
