"""One self-contained interactive page."""
