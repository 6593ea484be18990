"""How actors that are neighbours reach each other: each file one transport."""
