"""The compiled loops, if they were built and agree with NumPy on this machine."""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from raydream.kernels import plain
from raydream.types import Array

FILE = Path(__file__).with_name("compiled.so")
SWITCH = "RAYDREAM_KERNELS"
VERSION = 5  # of kernels.c

SIZE, WORD, POINTER, REAL = ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_double
ARGUMENTS = {
    "version": [],
    **{f"weighted_sums_{kind}": [SIZE, SIZE, *[POINTER] * 5] for kind in ("double", "float")},
    **{f"weighted_rows_{kind}": [SIZE, SIZE, *[POINTER] * 5] for kind in ("double", "float")},
    **{f"accelerate_{kind}": [SIZE, POINTER, POINTER, REAL] for kind in ("double", "float")},
    **{f"room_{kind}": [SIZE] for kind in ("double", "float")},
    **{f"rounds_{kind}": [SIZE, SIZE, *[POINTER] * 5, SIZE, SIZE, REAL, POINTER] for kind in ("double", "float")},
    "onto_simplex": [POINTER, SIZE, REAL, POINTER],
    "rows_onto_simplex": [SIZE, SIZE, REAL, POINTER, SIZE, POINTER, SIZE],
    "row_products": [SIZE, *[POINTER] * 6, SIZE, POINTER],
    "row_sums": [SIZE, *[POINTER] * 6, SIZE, POINTER],
    "publish": [POINTER, ctypes.c_uint32],
    "reached": [SIZE, POINTER, ctypes.c_uint32, SIZE],
    "draw_below": [POINTER, WORD, WORD, SIZE, POINTER, POINTER, SIZE, POINTER],
}
SUFFIX = {"d": "double", "f": "float"}  # of a function's name, by the letter of a dtype


def compiled() -> Any:
    """The library, or None: its functions by name."""
    return _found()[0]


def which() -> str:
    """Which loops are at work, in words."""
    return _found()[1]


@cache
def _found() -> tuple[Any, str]:
    """The library and its description; None and the reason why not."""
    if os.environ.get(SWITCH) == "numpy":
        return None, f"NumPy, as {SWITCH} asks"
    if not FILE.exists():
        return None, "NumPy; no C compiler was found when raydream was installed"
    try:
        library = ctypes.CDLL(str(FILE))
        for name, types in ARGUMENTS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, SIZE
    except (OSError, AttributeError) as error:
        return None, f"NumPy; {FILE.name} cannot be used ({error})"
    if library.version() != VERSION:
        return None, f"NumPy; {FILE.name} is of another version: install raydream again to build it"
    if not _agrees(library):
        return None, f"NumPy; {FILE.name} has other bits than NumPy on this machine"
    return library, "compiled"


def address(array: Any) -> int:
    """Where an array lies."""
    place: int = array.__array_interface__["data"][0]
    return place


def _agrees(library: Any) -> bool:
    """Whether the library has NumPy's bits on a few numbers: both may have been built with other rules of rounding."""
    generator = np.random.default_rng(0)
    return (
        all(_same_mixing(library, generator.normal(size=(3, 1100)).astype(kind)) for kind in SUFFIX)
        and all(
            _same_projection(library, generator.normal(size=size) * spread)
            for size in (5, 700)
            for spread in (0.01, 1.0)
        )
        and _same_draws(library)
    )


def _same_mixing(library: Any, V: Array) -> bool:
    from scipy.sparse import csr_array

    W = csr_array(np.array([[0.3, 0.7, 0.0], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]], dtype=V.dtype))
    begins, columns = W.indptr.astype(np.int32), W.indices.astype(np.int32)
    out, kind = np.empty_like(V), SUFFIX[V.dtype.char]
    places = map(address, (begins, columns, W.data, V, out))
    getattr(library, f"weighted_sums_{kind}")(3, V.shape[1], *places)
    if not np.array_equal(out, W @ V):
        return False
    wanted = plain.accelerate(out.copy(), V, 0.37, np.empty_like(V))
    getattr(library, f"accelerate_{kind}")(out.size, address(out), address(V), 0.37)
    if not np.array_equal(out, wanted):
        return False
    wanted = plain.rounds(W.__matmul__, V, 3, 0.37)
    places = map(address, (begins, columns, W.data, V, out))
    room = np.empty(getattr(library, f"room_{kind}")(3), dtype=V.dtype)
    getattr(library, f"rounds_{kind}")(3, V.shape[1], *places, 3, 1, 0.37, address(room))
    return np.array_equal(out, wanted)


def _same_projection(library: Any, y: Array) -> bool:
    out = np.empty_like(y)
    status = library.onto_simplex(address(y), y.size, 1.5, address(out))
    return bool(status == 0 and np.array_equal(out, plain.onto_simplex(y, 1.5)))


def _same_draws(library: Any) -> bool:
    key, agents, bounds = np.array([3, 5], np.uint64), np.array([0, 7]), np.array([10, 2**31 + 11])
    out = np.empty((2, 9), dtype=np.int64)
    library.draw_below(address(key), 2, 4, 2, address(agents), address(bounds), 9, address(out))
    wanted = [plain.draw_below(key, 2, 4, *pair, 9) for pair in ((0, 10), (7, 2**31 + 11))]
    return np.array_equal(out, wanted)
