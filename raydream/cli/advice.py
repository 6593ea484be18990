"""advise."""

from typing import Annotated, Any

import typer

from raydream.cli.command import command
from raydream.cli.options import (
    Agents,
    AnyTopology,
    Check,
    DataName,
    ProblemName,
    ProblemSettings,
    TopologySettings,
    problem_and_network,
    words,
)
from raydream.cli.tables import show


@command
def advise(
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = None,
    topology: AnyTopology = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    preset: Annotated[
        str | None, typer.Option(help="Prices where none are given: machine, data-centre, cloud or phones.")
    ] = None,
    gradient_seconds: Annotated[
        float | None, typer.Option(help="What a gradient of one sample takes (default: measured here and now).")
    ] = None,
    latency: Annotated[float | None, typer.Option(help="Seconds that a message takes.")] = None,
    bandwidth: Annotated[float | None, typer.Option(help="Bytes per second on a link.")] = None,
    target: Annotated[
        float | None,
        typer.Option(help="What is to be reached (default: what every method reaches that gets anywhere)."),
    ] = None,
    metric: Annotated[str, typer.Option(help="Of which column of the history.")] = "grad_norm",
    methods: Annotated[str | None, typer.Option(help="Names, such as dream,gt-gda.")] = None,
    runs: Annotated[str, typer.Option(help="Where comparisons are looked for, and a quick study is kept.")] = "runs",
    directory: Annotated[str | None, typer.Option(help="Where a quick study is kept instead.")] = None,
    study: Annotated[
        bool, typer.Option("--study/--no-study", help="Make a quick tuned study where no stored comparison matches.")
    ] = True,
    check: Check = True,
) -> None:
    """Which method is first on my network? From stored comparisons, or else from a quick tuned study.

    Example: raydream advise --data a9a --agents 32 --latency 0.05 --bandwidth 1e7
    """
    import raydream
    from raydream.studies.advising.advise import asked

    if topology_set and topology is None:
        raise ValueError("`--topology-set` needs `--topology`, of which it says a parameter.")
    built, network = problem_and_network(problem, data, agents, problem_set, topology or "ring", topology_set)
    question = {
        "problem": None if problem == "robust-logistic" else problem, "data": data, "agents": agents,
        "topology": topology, "problem_set": problem_set, "topology_set": topology_set, "preset": preset,
        "latency": latency, "bandwidth": bandwidth, "metric": None if metric == "grad_norm" else metric,
        "methods": methods,
        "runs": None if runs == "runs" else runs, "directory": directory,
    }  # fmt: skip
    advice = raydream.advise(
        built, None if topology is None else network, preset=preset, gradient_seconds=gradient_seconds, latency=latency,
        bandwidth=bandwidth, target=target, metric=metric, methods=None if methods is None else words(methods),
        runs=runs, directory=directory, study=study, check=check, progress=True,
    )  # fmt: skip
    settled = {"gradient_seconds": advice.prices.gradient_seconds, "target": float(f"{advice.target:.6g}")}
    for line in (*advice.told, f"Here {advice.priced}."):
        print(line)
    rows = [
        (row.method, _time(row), f"{row.reached} of {row.seeds}", *map(_count, (row.rounds, row.bytes, row.sfo)))
        for row in advice.table.itertuples()
    ]
    title = f"to reach {advice.metric} {advice.sign} {advice.target:.4g}: medians (95 % intervals of the time)"
    show(title, ("method", "simulated time", "reached", "rounds", "bytes", "SFO"), rows)
    print(advice.verdict)
    print(f"Again: {asked({**question, **settled})}")


def _time(row: Any) -> str:
    """The median with its interval; what falls on a seed that did not get there is left open."""
    from raydream.studies.places import duration

    if row.sim_seconds != row.sim_seconds:
        return "not reached by half" if row.reached else "not reached"
    if row.low == row.high:
        return duration(row.sim_seconds)
    ends = [duration(end) if end == end else "?" for end in (row.low, row.high)]
    return f"{duration(row.sim_seconds)} ({ends[0]} to {ends[1]})"


def _count(value: float) -> str:
    return "-" if value != value else f"{value:,.0f}"
