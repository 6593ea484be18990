"""The tables of numbers, once: the page, the terminal, LaTeX and CSV show the same cells."""
