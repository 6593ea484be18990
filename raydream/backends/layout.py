"""What an agent owns, laid out in memory as it would be after travelling to another process."""

import io
import pickle
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

# What stays itself: plain pickle may not know how to send it, and its layout does not matter.
BY_REFERENCE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


def as_sent(thing: Any) -> Any:
    """The thing itself if its arrays lie side by side in memory; else a copy in which they do.

    Arrays are sent side by side, and sums over strided rows have other bits: every backend must see the same. What
    cannot be pickled, and so could not be sent, is left as it is.
    """
    try:
        scan = _Pickler(_Nowhere())
        scan.dump(thing)
        return _copied(thing) if scan.strided else thing
    except Exception:
        return thing


def _copied(thing: Any) -> Any:
    """A round trip; arrays that lie side by side already are not copied."""
    written, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    sender = _Pickler(written, buffers)
    sender.dump(thing)
    written.seek(0)
    return _Unpickler(written, buffers, sender.kept).load()


class _Pickler(pickle.Pickler):
    """Notices arrays that do not lie side by side."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer] | None = None) -> None:
        found: list[pickle.PickleBuffer] = [] if buffers is None else buffers
        super().__init__(file, protocol=5, buffer_callback=found.append)
        self.strided, self.kept = False, list[Any]()

    def persistent_id(self, thing: Any) -> int | None:
        """The number of a thing that stays itself."""
        if isinstance(thing, BY_REFERENCE):
            self.kept.append(thing)
            return len(self.kept) - 1
        if isinstance(thing, np.ndarray) and not (thing.flags.c_contiguous or thing.flags.f_contiguous):
            self.strided = True
        return None


class _Unpickler(pickle.Unpickler):
    """Reads what was written in this very process a moment ago, and nothing else."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer], kept: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self._kept = kept

    def persistent_load(self, number: int) -> Any:
        """A thing that stayed itself."""
        return self._kept[number]


class _Nowhere(io.RawIOBase):
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        """Forget it."""
        return len(data)
