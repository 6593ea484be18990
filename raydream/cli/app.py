"""The commands, gathered: `raydream run | resume | compare | tune | check | report | dashboard | ...`."""

# in the order in which --help lists them
# isort: off
from raydream.cli import runs, studies, advice, checking, pages, knowledge
from raydream.cli.command import app

__all__ = ["advice", "app", "checking", "knowledge", "main", "pages", "runs", "studies"]


def main() -> None:
    """The entry point."""
    app()
