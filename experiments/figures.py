"""What figures 1 and 2 share: tune every method by one rule, compare the winners over seeds, write what was found.

The rule, the same for all methods: successive halving over the same number of configurations, drawn from each
method's own grid, judged by P(x_bar) at the budget (SFO calls for figure 1, rounds for figure 2); then the winners
run with other seeds up to the same budget. Nothing is tuned by hand.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import raydream as rd
from raydream.report.theme import colour

HERE = Path(__file__).resolve().parent
METHODS = ("dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr")
SPACES = {"paper": "paper", "balanced": "wide"}  # the literal problem with the paper's grids; ours with wider ones
TRIALS = {"paper": 9, "balanced": 27}  # configurations of each method; on the literal problem hardly anything moves
AXES = {"sfo": "SFO calls", "rounds": "communication rounds", "bytes": "bytes sent"}


def problem_for(name: str, scaling: str, agents: int = 8) -> Any:
    """The paper's problem on a data set: literally (theta = 1e-5), or balanced."""
    options = {"samples": 1600, "features": 40, "seed": 1} if name == "synthetic" else {}
    features, labels = rd.data.load(name, progress=False, **options)
    theta = 1e-5 if scaling == "paper" else 1e-3
    return rd.problems.RobustLogisticRegression(features, labels, agents, scaling=scaling, theta=theta)


def budget_for(axis: str, problem: Any, quick: bool) -> int:
    """Eight passes over the data, or three hundred rounds."""
    if axis == "sfo":
        return (4 if quick else 8) * problem.total
    return 120 if quick else 300


def tuned_comparison(name: str, scaling: str, axis: str, out: Path, quick: bool) -> tuple[Any, Any, int]:
    """Tune all methods on one problem, and compare the winners over three seeds."""
    problem = problem_for(name, scaling)
    ring = rd.topology.ring(8, self_weight=0.999)
    budget = budget_for(axis, problem, quick)
    folder = out / f"{name}-{scaling}"
    tuning = rd.tune(
        problem, ring, METHODS, budget=budget, axis=axis, space=SPACES[scaling], search="halving",
        trials=4 if quick else TRIALS[scaling], directory=folder / "tuning", progress=True,
    )  # fmt: skip
    limit = {"max_sfo": budget} if axis == "sfo" else {"max_rounds": budget}
    comparison = rd.compare(
        problem, ring, tuning.best, seeds=(1, 2) if quick else (1, 2, 3), backend="local", record_every=1,
        directory=folder / "runs", progress=True, **limit,
    )  # fmt: skip
    return tuning, comparison, budget


def final_values(comparison: Any, axis: str, budget: int) -> pd.DataFrame:
    """For each method the median over seeds of P at the last record within the budget, and what it had spent."""
    history = comparison.history
    within = history[history[axis] <= budget]
    last = within.sort_values("iteration").groupby(["method", "seed"]).tail(1)
    spent = ["primal", "grad_norm", "consensus", "sfo", "rounds", "bytes", "iteration"]
    table = last.groupby("method")[spent].median()
    table["start"] = history[history.iteration == 0].primal.iloc[0]
    return table.sort_values("primal").reset_index()


def figure(curves: pd.DataFrame, axis: str) -> go.Figure:
    """P against each of the three prices, a row per problem."""
    problems = list(dict.fromkeys(curves.problem))
    order = [axis, *(other for other in AXES if other != axis)]
    titles = [f"{problem}" if column == 0 else "" for problem in problems for column in range(3)]
    page = make_subplots(rows=len(problems), cols=3, subplot_titles=titles, horizontal_spacing=0.07)
    for row, problem in enumerate(problems, 1):
        for column, x in enumerate(order, 1):
            part = curves[(curves.problem == problem) & (curves.axis == x)]
            for method in METHODS:
                line = part[part.method == method].dropna(subset=["median"])
                page.add_scatter(
                    x=line.x, y=line["median"], name=method, legendgroup=method, mode="lines",
                    showlegend=row == column == 1, line={"color": colour(method), "width": 2}, row=row, col=column,
                )  # fmt: skip
            page.update_xaxes(title_text=AXES[x], row=row, col=column)
        page.update_yaxes(title_text="P(x̄)", row=row, col=1)
    legend = {"orientation": "h", "y": 1.0, "yanchor": "top", "yref": "container", "x": 0.05}
    page.update_layout(height=300 * len(problems) + 60, width=1250, template="plotly_white", legend=legend)
    page.update_layout(margin={"l": 70, "r": 20, "t": 70, "b": 50})
    return page


def say(table: pd.DataFrame, problem: str, axis: str) -> str:
    """One honest sentence about a problem, from its table."""
    start, rows = table.start.iloc[0], table.sort_values("primal").reset_index(drop=True)
    best, second = rows.iloc[0], rows.iloc[1]
    dream = rows[rows.method == "dream"].iloc[0]
    place = int(rows.index[rows.method == "dream"][0]) + 1
    gain = (start - best.primal) / abs(start)
    if gain < 1e-3:
        verdict = f"nothing moves: the best method lowers P by {100 * gain:.2g} % of its starting value"
    elif place == 1:
        verdict = f"DREAM is ahead: P = {dream.primal:.4g}, next {second.method} with {second.primal:.4g}"
    else:
        leader = f"{best.method} reaches {best.primal:.4g}"
        verdict = f"DREAM is number {place} of {len(rows)} with P = {dream.primal:.4g}; {leader}"
    return f"- {problem}, at the {AXES[axis]} budget: {verdict} (start {start:.4g})."


def main(axis: str, number: int) -> None:
    """The whole figure."""
    parser = argparse.ArgumentParser(
        description=f"Figure {number} of the DREAM paper: P against {AXES[axis]}, tuned honestly."
    )
    parser.add_argument("--quick", action="store_true", help="small synthetic data, a few configurations")
    parser.add_argument("--data", nargs="*", help="data sets (default: a9a w8a ijcnn1; --quick: synthetic)")
    parser.add_argument("--scalings", nargs="*", default=["balanced", "paper"])
    parser.add_argument("--out", type=Path, help="where results go (default: experiments/results/figure_N)")
    arguments = parser.parse_args()
    name = f"figure_{number}_{axis}"
    out = arguments.out or HERE / "results" / (name + ("_quick" if arguments.quick else ""))
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    tables, curves, lines, best = [], [], [], {}
    for data in arguments.data or (["synthetic"] if arguments.quick else ["a9a", "w8a", "ijcnn1"]):
        for scaling in arguments.scalings:
            label = f"{data}, {scaling} scaling"
            tuning, comparison, budget = tuned_comparison(data, scaling, axis, out, arguments.quick)
            table = final_values(comparison, axis, budget)
            table.insert(0, "problem", label)
            tables.append(table)
            for x in AXES:
                curve = comparison.curves(x=x, y="primal", points=80)
                curves.append(curve.assign(problem=label, axis=x).rename(columns={x: "x"}))
            best[label] = {method: repr(winner) for method, winner in tuning.best.items()}
            lines.append(say(table, label, axis))
            print(lines[-1], flush=True)
    minutes = (time.monotonic() - began) / 60
    everything, drawn = pd.concat(tables), pd.concat(curves)
    target = out if arguments.quick or arguments.data or arguments.out else HERE / "findings"
    target.mkdir(parents=True, exist_ok=True)
    everything.to_csv(target / f"{name}.csv", index=False, float_format="%.8g")
    drawn.to_csv(out / "curves.csv", index=False, float_format="%.6g")
    (target / f"{name}_winners.json").write_text(json.dumps(best, indent=1) + "\n")
    figure(drawn, axis).write_html(out / f"{name}.html", include_plotlyjs=True, config={"displayModeBar": False})
    text = "\n".join([
        f"# Figure {number}: P against {AXES[axis]}", "",
        "Ring of 8 with self weight 0.999; every method tuned by one rule (see `experiments/figures.py`), judged at "
        "the budget; medians over three other seeds. P at the start, and the winners' parameters, are in the files "
        f"beside this one. The last {minutes:.0f} minutes of the work were spent in one go; finished parts of earlier "
        "runs are reused.", "", *lines, "",
    ])  # fmt: skip
    (target / f"{name}.md").write_text(text)
    print(f"figure: {out / f'{name}.html'}")


if __name__ == "__main__":
    raise SystemExit("run figure_1_sfo.py or figure_2_rounds.py")
