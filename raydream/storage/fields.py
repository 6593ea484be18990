"""A JSON object read entry by entry: each of the kind and in the range that it must have, or one sentence."""

from collections.abc import Mapping
from typing import Any

from raydream.errors import RecordError

REQUIRED: Any = object()  # in the place of a default: there is none
LONGEST_TEXT = 100_000  # characters
MOST_ITEMS = 100_000  # of a list or a table
LARGEST = 10**15  # whole number, where no other bound is given


class Fields:
    """The entries of an object that stands at `place` in a file."""

    def __init__(self, place: str, value: Any) -> None:
        self._place = place
        if not isinstance(value, Mapping):
            raise self._refusal("", "a table", value)
        if len(value) > MOST_ITEMS:
            raise RecordError(f"{place} must have at most {MOST_ITEMS} entries; it has {len(value)}.")
        self._entries = value

    def text(self, name: str, usual: Any = REQUIRED, options: tuple[str, ...] = ()) -> Any:
        """Text, or one of a few words."""
        value = self._get(name, usual)
        if value is usual:
            return value
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise self._refusal(name, "text", value)
        if options and value not in options:
            raise self._refusal(name, f"one of {', '.join(options)}", value)
        return value

    def whole(self, name: str, least: int = 0, most: int | None = LARGEST, usual: Any = REQUIRED) -> Any:
        """A whole number in a range."""
        value = self._get(name, usual)
        if value is usual:
            return value
        if not is_whole(value) or value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            raise self._refusal(name, f"a whole number, {bounds}", value)
        return value

    def number(self, name: str, usual: Any = REQUIRED) -> Any:
        """A finite number."""
        value = self._get(name, usual)
        if value is not usual and not is_number(value):
            raise self._refusal(name, "a finite number", value)
        return value

    def measured(self, name: str) -> float:
        """A number, NaN or infinity: what a metric may be."""
        value = self._get(name, REQUIRED)
        if not isinstance(value, float) and not is_number(value):
            raise self._refusal(name, "a number", value)
        return float(value)

    def flag(self, name: str, usual: bool) -> bool:
        """True or false."""
        value = self._get(name, usual)
        if not isinstance(value, bool):
            raise self._refusal(name, "true or false", value)
        return value

    def inner(self, name: str, usual: Any = REQUIRED) -> "Fields":
        """An object in this one."""
        return Fields(f"{self._place}'s {name}", self._get(name, usual))

    def has(self, name: str) -> bool:
        """Whether there is such an entry, and something in it."""
        return self._entries.get(name) is not None

    def values(self, name: str) -> dict[str, Any]:
        """An object whose values may be anything; empty where there is none."""
        return self.inner(name, {}).plain()

    def texts(self, name: str) -> dict[str, str]:
        """An object of texts; empty where there is none."""
        inner = self.inner(name, {})
        return {one: inner.text(one) for one in inner.plain()}

    def numbers(self, name: str) -> dict[str, float]:
        """An object of finite numbers; empty where there is none."""
        inner = self.inner(name, {})
        return {one: inner.number(one) for one in inner.plain()}

    def wholes(self, name: str, least: int = 0) -> list[int]:
        """A list of whole numbers."""
        found = self.list(name)
        if not all(is_whole(one) and least <= one <= LARGEST for one in found):
            raise self._refusal(name, f"a list of whole numbers, at least {least}", found)
        return found

    def floats(self, name: str) -> list[float]:
        """A list of finite numbers."""
        found = self.list(name)
        if not all(map(is_number, found)):
            raise self._refusal(name, "a list of finite numbers", found)
        return found

    def objects(self, name: str) -> "list[Fields]":
        """A list of objects; empty where there is none."""
        found = self.list(name) if self.has(name) else []
        return [Fields(f"{self._place}'s {name}", one) for one in found]

    def list(self, name: str) -> list[Any]:
        """A list of bearable length."""
        value = self._get(name, REQUIRED)
        if not isinstance(value, list) or len(value) > MOST_ITEMS:
            raise self._refusal(name, f"a list of at most {MOST_ITEMS}", value)
        return value

    def plain(self) -> dict[str, Any]:
        """All entries."""
        return dict(self._entries)

    def _get(self, name: str, usual: Any) -> Any:
        value = self._entries.get(name)
        if value is None:
            if usual is REQUIRED:
                raise RecordError(f"{self._place} lacks {name!r}.")
            return usual
        return value

    def _refusal(self, name: str, wanted: str, value: Any) -> RecordError:
        where = f"{self._place}'s {name}" if name else self._place
        return RecordError(f"{where} must be {wanted}; it is {shortened(value)}.")


def is_whole(value: Any) -> bool:
    """Whether this is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def check_text(place: str, value: Any) -> None:
    """Refuse text that cannot be written down: a lone half of a surrogate pair."""
    if isinstance(value, str):
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            raise RecordError(f"{place} holds text that cannot be shown.")
    elif isinstance(value, Mapping):
        for pair in value.items():
            check_text(place, pair[0])
            check_text(place, pair[1])
    elif isinstance(value, list):
        for one in value:
            check_text(place, one)


def shortened(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, Mapping | list):
        return f"a {'table' if isinstance(value, Mapping) else 'list'} of {len(value)}"
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
