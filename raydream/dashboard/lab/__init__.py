"""The topology lab."""
