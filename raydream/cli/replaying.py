"""replay."""

from typing import Annotated, Any

import typer

from raydream.cli.command import LOADING, command
from raydream.cli.tables import show
from raydream.feedback import tell

MOST = 20  # agents that are listed: those furthest from the mean


@command
def replay(
    directory: Annotated[str, typer.Argument(help="A run directory.")],
    iteration: Annotated[int | None, typer.Option(help="After how many iterations (default: the last).")] = None,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Also the Lyapunov function, and the error of each agent's estimator.")
    ] = False,
    save: Annotated[
        str | None, typer.Option(metavar="FILE.npz", help="Keep the whole state, all agents' rows.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option(help="The package.module:make that run.json names: your word that it may be run.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="The package.module:Class of a method of yours, with which the run began.")
    ] = None,
) -> None:
    """The state of a run after any of its iterations, computed again to the same bits.

    Example: raydream replay runs/dream-1 --iteration 120 --diagnostics
    """
    tell(LOADING)
    from raydream.running.replay import Replay
    from raydream.storage.naming import setting_name

    found = Replay.of(directory, problem=problem, method=method)
    tell("replaying")
    state = found.at(found.last if iteration is None else iteration, diagnostics)
    tell("")
    name = f"{found.record.method.name}: {setting_name(found.record.config())}, iteration {state.iteration}"
    print(name)
    show(
        "the record of this state",
        ("", "value"),
        [*state.row.items(), ("coin", {None: None, True: "large batch", False: "correction"}[state.coin])],
    )
    agents = sorted(range(len(state.distances)), key=lambda agent: -state.distances[agent])[:MOST]
    columns = {"distance to the mean": state.distances, "moved": state.moved, "estimator's error": state.errors}
    given = {title: values for title, values in columns.items() if values is not None}
    rows = ([agent, *(float(values[agent]) for values in given.values())] for agent in sorted(agents))
    few = len(agents) < len(state.distances)
    show(f"the {MOST} agents furthest from the mean" if few else "agents", ("agent", *given), rows)
    if state.exchanges:
        show("rounds of the last step", ("rounds", "messages", "bytes", "disagreement before", "after"),
             [(one.rounds, one.messages, one.bytes, one.before, one.after) for one in state.exchanges])  # fmt: skip
    print(_told(state))
    if save is not None:
        print(f"The state is kept in {state.save(save)}.")


def _told(state: Any) -> str:
    began = "the start" if state.began == 0 else f"the checkpoint of iteration {state.began}"
    if state.agrees is False:
        return f"Computed from {began}; the record before it has other last digits: another machine, or other versions."
    return f"Computed from {began}" + ("; the record before it came out as it was written." if state.agrees else ".")
