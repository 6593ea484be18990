"""The agents hosted in one place: their rows, their random streams, and what they pay."""

from raydream.agents.ledger import Ledger
from raydream.agents.rows import Agents
from raydream.agents.streams import Streams

__all__ = ["Agents", "Ledger", "Streams"]
