"""The commands, gathered: `raydream run | resume | replay | compare | tune | check | report | dashboard | ...`."""

# in the order in which --help lists them
# isort: off
from raydream.cli import runs, replaying, studies, advice, checking, pages, knowledge
from raydream.cli.command import app

__all__ = ["advice", "app", "checking", "knowledge", "main", "pages", "replaying", "runs", "studies"]


def main() -> None:
    """The entry point."""
    app()
