"""report and dashboard."""

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from raydream.cli.command import command
from raydream.errors import Interrupted
from raydream.interrupt import terminated


@command
def report(
    directory: Annotated[str, typer.Argument(help="A run directory, or one of `raydream compare` or `tune`.")],
    output: Annotated[str | None, typer.Option(help="The page to write (default: report.html in it).")] = None,
) -> None:
    """Write one self-contained interactive page about a run, a comparison or a tuning.

    Example: raydream report runs/dream-1
    """
    import raydream

    folder = Path(directory)
    if (folder / "comparison.json").exists():
        found: Any = raydream.Comparison.load(folder)
        for skipped, why in found.skipped:
            print(f"skipped: {skipped}: {why}")
    elif any((folder / name).exists() for name in ("tuning.json", "trials.jsonl")):
        found = raydream.Tuning.load(folder)
    else:
        found = raydream.load(folder)
    print(f"The report is {found.report(Path(output) if output is not None else folder / 'report.html')}.")


@command
def dashboard(
    root: Annotated[str, typer.Argument(help="The folder whose run directories are shown.")] = "runs",
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need a token.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Default: 8050, or the next free one.")] = None,
    page: Annotated[
        str, typer.Option(help="The page to begin with: /, /run, /compare, /tuning, /new, /lab, /theory.")
    ] = "/",
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = False,
) -> None:
    """Watch, compare, start, stop and resume runs in a browser; try networks; read off the theory.

    Example: raydream dashboard runs --browser
    """
    from raydream.dashboard import serve

    with contextlib.suppress(KeyboardInterrupt):
        serve(root, host=host, port=port, page=page, browser=browser)
    if terminated():
        raise Interrupted("the dashboard has ended; runs go on")
