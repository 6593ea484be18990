"""Is a problem what it says it is? Laws that a wrong one breaks, and a verdict that people can read."""
