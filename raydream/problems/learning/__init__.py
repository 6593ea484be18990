"""Problems posed on rows of data: classification and regression against an adversary."""
