"""How actors that are neighbours reach each other: each file one transport, each transport a line here."""

from raydream.backends.ray.links.protocol import Links, Terms
from raydream.registry import Registry

__all__ = ["LINKS", "Links", "Terms"]

LINKS: Registry[type[Links]] = Registry(
    "links",
    {
        "direct": "raydream.backends.ray.links.tcp:DirectLinks",
        "tcp": "raydream.backends.ray.links.tcp:TcpLinks",
        "ray": "raydream.backends.ray.links.ray_calls:RayLinks",
    },
)
