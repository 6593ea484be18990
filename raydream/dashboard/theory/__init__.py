"""What the theorem prescribes, and how costs grow."""
