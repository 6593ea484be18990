"""Can a thing be sent to an actor? Asked before anything is started, and answered with the attribute at fault."""

from typing import Any

from ray import cloudpickle


def check_sendable(name: str, thing: Any) -> None:
    """Refuse what cannot be pickled, by the path of the attribute that cannot."""
    if _fits(thing):
        return
    path, culprit = _blame(name, thing)
    raise TypeError(
        f"`{path}` cannot be sent to an actor: a {type(culprit).__name__} cannot be pickled; "
        'create it on first use instead of storing it, or run with backend="local".'
    )


def _fits(thing: Any) -> bool:
    try:
        cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
        return True
    except Exception:
        return False


def _blame(path: str, thing: Any, depth: int = 8) -> tuple[str, Any]:
    """The innermost attribute or item that cannot be pickled."""
    parts: dict[str, Any] = {}
    if isinstance(thing, dict):
        parts = {f"{path}[{key!r}]": value for key, value in thing.items()}
    elif isinstance(thing, list | tuple):
        parts = {f"{path}[{number}]": value for number, value in enumerate(thing)}
    elif hasattr(thing, "__dict__"):
        parts = {f"{path}.{key}": value for key, value in vars(thing).items()}
    for inner, value in parts.items():
        if depth and not _fits(value):
            return _blame(inner, value, depth - 1)
    return path, thing
