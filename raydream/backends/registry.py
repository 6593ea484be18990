"""A backend by name, or the configured one that was given."""

from typing import Any

from raydream.backends.protocol import Backend
from raydream.checks import choice


def backend_from(backend: Any) -> Backend:
    """The backend that `run` was asked for."""
    if not isinstance(backend, str):
        if not callable(getattr(backend, "open", None)):
            raise TypeError(f'`backend` must be "ray", "local" or a configured backend; got {backend!r}.')
        configured: Backend = backend
        return configured
    if choice("backend", backend, ("local", "ray")) == "local":
        from raydream.backends.local import LocalBackend

        return LocalBackend()
    from raydream.backends.ray import RayBackend

    return RayBackend()
