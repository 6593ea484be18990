"""How far a run says it is: progress.json, believed only where it makes sense."""

from dataclasses import dataclass, field
from typing import Any

from raydream.backends.protocol import Recovery
from raydream.errors import RecordError
from raydream.storage.fate import recoveries_from_json
from raydream.storage.fields import Fields, check_text


@dataclass(frozen=True)
class Progress:
    """Iterations done, when that was written (0: never), and who was lost on the way."""

    iteration: int = 0
    time: float = 0.0
    recoveries: list[Recovery] = field(default_factory=list)

    @classmethod
    def from_json(cls, value: Any) -> "Progress":
        """What a progress.json says; nothing where it makes no sense."""
        try:
            check_text("progress.json", value)
            found = Fields("progress.json", value)
            return cls(found.whole("iteration", usual=0), float(found.number("time", 0.0)), recoveries_from_json(found))
        except (RecordError, RecursionError):
            return cls()
