"""Every agent a Ray actor: Ray places, starts, watches and restarts them; messages go straight from one to another."""

from raydream.backends.ray.backend import RayBackend

__all__ = ["RayBackend"]
