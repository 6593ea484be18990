"""Many runs: comparisons, tunings, and the curves and tables that sum them up."""
