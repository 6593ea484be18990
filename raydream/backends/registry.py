"""The backends by name."""

from collections.abc import Mapping
from typing import Any

from raydream.backends.protocol import Backend
from raydream.registry import Registry

BACKENDS: Registry[type[Any]] = Registry(
    "backend",
    {
        "ray": "raydream.backends.ray.backend:RayBackend",
        "local": "raydream.backends.local:LocalBackend",
    },
)


def backend_from(backend: Any) -> Backend:
    """The backend of this name, or the configured one that was given."""
    if isinstance(backend, str):
        made: Backend = BACKENDS.find(backend)()
        return made
    if isinstance(backend, type) or not isinstance(backend, Backend):
        known = ", ".join(f'"{name}"' for name in BACKENDS)
        raise TypeError(f"`backend` must be {known} or a configured backend; got {backend!r}.")
    return backend


def backend_again(described: Mapping[str, Any]) -> Backend:
    """The backend that a run's record describes; not at its Ray, which may be gone, and no file is sent as it says."""
    settings = {name: value for name, value in described.items() if name not in ("name", "address", "ship")}
    kind = BACKENDS.find(described.get("name"))
    try:
        made: Backend = kind(**settings)
    except TypeError as error:
        raise ValueError(f"`backend` must be given: the one in run.json cannot be made ({error}).") from None
    return made
