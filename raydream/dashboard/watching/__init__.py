"""Run directories as a stranger sees them: found, followed while they grow, started and stopped."""
