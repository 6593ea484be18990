"""Living on a Ray: joining one, folders of one's own, what is reserved and waited for, what it is told."""
