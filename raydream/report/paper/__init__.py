"""The last mile to a paper: tables in LaTeX, curves in TikZ, figures in its look, and the numbers behind them."""
