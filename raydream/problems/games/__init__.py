"""Problems that are drawn rather than read: policy evaluation, a toy GAN, a game without strong concavity."""
