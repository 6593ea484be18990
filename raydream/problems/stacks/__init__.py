"""Shards that answer together: each row with the bits that its shard gives it alone."""
