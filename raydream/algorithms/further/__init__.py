"""Further methods: the others that the DREAM paper names, those that came after it, and what they are set against."""
