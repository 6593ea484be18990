"""The loops in which a run spends its time: compiled where that was possible at installation, else in NumPy.

Both give the same bits; `raydream backends` says which of them are at work, and RAYDREAM_KERNELS=numpy asks for those
in NumPy.
"""

from raydream.kernels.draws import draw_below
from raydream.kernels.mixing import Weights, accelerate
from raydream.kernels.simplex import onto_simplex, rows_onto_simplex
from raydream.kernels.sparse import SparseRows

__all__ = ["SparseRows", "Weights", "accelerate", "draw_below", "onto_simplex", "rows_onto_simplex"]
