"""Things by the names that the command line, forms, help and records use for them."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from raydream.checks import choice

Thing = TypeVar("Thing")


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Named things of one kind, in the order in which they are listed.

    what     what they are, in a word, as errors say it
    entries  name -> thing, or name -> "package.module:attribute", which is imported when it is first asked for
    whole    a module whose import adds what is listed elsewhere, imported when somebody first looks for anything
    """

    def __init__(self, what: str, entries: Mapping[str, Thing | str] | None = None, whole: str = "") -> None:
        self.what = what
        self._known: dict[str, Thing | str] = dict(entries or {})
        self._whole = whole

    @property
    def _entries(self) -> dict[str, Thing | str]:
        if self._whole:
            whole, self._whole = self._whole, ""
            import_module(whole)
        return self._known

    def __getitem__(self, name: str) -> Thing:
        entry = self._entries[name]
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = self._entries[name] = cast("Thing", getattr(import_module(module), attribute))
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<{self.what}s: {', '.join(self)}>"

    def add(self, name: str, thing: Thing) -> None:
        """One more, at the end."""
        if name in self._known:
            raise ValueError(f"`{self.what}` {name!r} is there already; choose another name.")
        self._known[name] = thing

    def find(self, name: object) -> Thing:
        """The thing of this name, or a sentence that lists the names and suggests the nearest."""
        return self[choice(self.what, name, self)]

    def name_of(self, thing: object) -> str | None:
        """The name that a thing goes by, if it is one of these."""
        return next((name for name in self if self[name] is thing), None)
