"""Problems of one's own from functions and data: plain NumPy, or a loss that torch or JAX differentiates."""
