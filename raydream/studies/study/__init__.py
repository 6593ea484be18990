"""Studies from files: problems x networks x methods x seeds, tuned by one rule, in one directory and one report."""
