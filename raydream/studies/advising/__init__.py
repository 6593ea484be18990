"""Which method on my network? An answer from what was recorded, or from a quick tuned study."""
