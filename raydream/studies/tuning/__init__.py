"""Tuning: where to look, what trials spend, who wins and whether that can be believed."""
