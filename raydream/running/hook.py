"""What a run tells while it lasts: every record, to a function of the user's own, which may end the run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from raydream.errors import CallbackError

OnRecord = Callable[[dict[str, float]], Any]


class Hook:
    """Calls `on_record(row)` after each record with the row of the history as a dict.

    It ends the run by returning True or by raising StopIteration; whatever else it returns says nothing. Where it has
    them, `begin(config)` is called before, with all that makes the run, and `end(outcome)` after it, also if it failed.
    """

    def __init__(self, on_record: OnRecord | None, config: Mapping[str, Any] | None = None) -> None:
        if on_record is not None and not callable(on_record):
            raise TypeError(f"`on_record` must be a function of a row; got {on_record!r}.")
        self._call, self._config = on_record, dict(config or {})

    @contextmanager
    def around(self, ended: Callable[[], str]) -> Iterator[None]:
        """While a run lasts; `ended` says its outcome."""
        self._tell("begin", self._config, "at the beginning")
        try:
            yield
        except BaseException:
            self._tell("end", "failed", "at the end")
            raise
        self._tell("end", ended(), "at the end")

    def record(self, row: Mapping[str, float]) -> tuple[str, str] | None:
        """Hand over a record; the outcome and the reason where the run is to end."""
        if self._call is None:
            return None
        place = f"at iteration {int(row['iteration'])}"
        try:
            answer = self._call(dict(row))
        except StopIteration:
            answer = True
        except Exception as error:
            raise _failure(place, error) from error
        if isinstance(answer, bool | np.bool_) and answer:
            return "callback", f"on_record ended the run {place}"
        return None

    def _tell(self, name: str, what: Any, place: str) -> None:
        told = getattr(self._call, name, None)
        if told is not None:
            try:
                told(what)
            except Exception as error:
                raise _failure(place, error) from error


def _failure(place: str, error: Exception) -> CallbackError:
    if isinstance(error, CallbackError):
        return error
    return CallbackError(f"`on_record` failed {place} with {type(error).__name__}: {error}".rstrip(".: ") + ".")
