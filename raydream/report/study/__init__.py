"""The report of a study: small multiples, a row for each cell."""
