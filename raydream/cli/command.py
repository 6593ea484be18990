"""What every command shares: the application they belong to, and mistakes told in one sentence."""

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from raydream import __version__
from raydream.errors import StudyWarning
from raydream.feedback import Screen, telling
from raydream.interrupt import exit_code, terminable

ADVICE = {  # what sentences name in Python, and what it is here
    "`problem.pooled()` and a topology of one agent, such as ring(1)": "`--agents 1`",
    "`topology.lazy()`": "`--lazy`",
    "`.lazy()`": "`--lazy`",
}
LOADING = "loading libraries"  # the first thing that a command which takes long has to say

app = typer.Typer(
    name="raydream",
    help="Decentralized nonconvex-strongly-concave minimax optimisation, every agent a Ray actor.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command of the application, named as its function."""
    return app.command()(plainly(function))


def plainly(command: Callable[..., None]) -> Callable[..., None]:
    """A user's mistake becomes one sentence and exit code 2; RAYDREAM_TRACEBACK=1 shows where it arose.

    SIGTERM is like Ctrl-C.
    """

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings(), terminable(), telling(Screen()):
                warnings.simplefilter("always", StudyWarning)
                warnings.showwarning = _one_sentence
                command(*arguments, **options)
        except (ValueError, TypeError, ArithmeticError, OSError, RuntimeError, ImportError) as error:
            if os.environ.get("RAYDREAM_TRACEBACK") or isinstance(error, typer.Exit | typer.Abort):
                raise
            print(f"raydream: {said_here(str(error))}", file=sys.stderr)
            raise typer.Exit(2) from None
        except MemoryError as error:
            print(f"raydream: there is not enough memory for this ({error or 'no more is said'}).", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt as stop:
            print(f"raydream: {stop or 'interrupted'}", file=sys.stderr)
            raise typer.Exit(exit_code()) from None

    return wrapped


def _one_sentence(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"raydream: {said_here(str(message))}", file=sys.stderr)


def said_here(sentence: str) -> str:
    """Advice in the words of the command line, where it is given in Python's."""
    for python, here in ADVICE.items():
        sentence = sentence.replace(python, here)
    return sentence


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        print(f"raydream {__version__}")
        raise typer.Exit
