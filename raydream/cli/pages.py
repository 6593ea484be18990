"""report, export and dashboard."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from raydream.cli.command import LOADING, command
from raydream.errors import Interrupted
from raydream.feedback import tell
from raydream.interrupt import terminated


@command
def report(
    directory: Annotated[str, typer.Argument(help="A run directory, or one of `compare`, `tune` or `study`.")],
    output: Annotated[str | None, typer.Option(help="The page to write (default: report.html in it).")] = None,
) -> None:
    """Write one self-contained interactive page about a run, a comparison, a tuning or a study.

    Example: raydream report runs/dream-1
    """
    from raydream.report.source import opened

    folder = Path(directory)
    found = opened(folder)
    for skipped, why in getattr(found, "skipped", []):
        print(f"skipped: {skipped}: {why}")
    print(f"The report is {found.report(Path(output) if output is not None else folder / 'report.html')}.")


@command
def export(
    directory: Annotated[str, typer.Argument(help="A run directory, or one of `compare`, `tune` or `study`.")],
    formats: Annotated[str, typer.Option("--format", help="Of tex, csv, parquet, svg, pdf, tikz.")] = "tex,csv,tikz",
    out: Annotated[str | None, typer.Option(help="Where to (default: export in the directory).")] = None,
    style: Annotated[str, typer.Option(help="paper (a column wide, serif, greyscale-safe) or screen.")] = "paper",
    x: Annotated[str, typer.Option(help="The cost along the convergence figure.")] = "sfo",
    y: Annotated[str, typer.Option(help="The metric that it shows.")] = "grad_norm",
    target: Annotated[
        float | None, typer.Option(help="What is to be reached (default: what all methods reach).")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Of which metric (default: that of --y).")] = None,
) -> None:
    """Write tables, numbers and figures for a paper, each with the command that makes it again.

    Example: raydream export runs/compare-1 --format tex,csv,svg --x rounds --y primal
    """
    tell(LOADING)
    import raydream

    files = raydream.export(directory, out, formats, style=style, x=x, y=y, target=target, metric=metric)
    print("\n".join(map(str, files)))


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
