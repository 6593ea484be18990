"""The laws, by theme: each is a function of the subject that yields findings, and says the names of its checks."""
