"""What figures 1 and 2 share: carry out their study files, and tell and draw what came of them.

The rule, the same for all methods, is in the study files. With the balanced scaling the same number of configurations
of every method is drawn from the same ranges of steps and the method's own values of the rest, and as many more are
tried around its winner. In the paper's own setting all combinations of its steps and of the ends of its other lists are
tried. Both go by successive halving at equal budgets, each trial judged by the mean of P(x_bar) over the last tenth of
what it may spend after its own start; then the winners run with ten other seeds up to the same budget. Nothing is tuned
by hand.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from sweeps import grouped, options
from texts import FINDINGS, publish, read_tables, short, table

import raydream as rd
from raydream.report.theme import colour
from raydream.studies.statistics import has_followed, median_interval, paired_difference

HERE = Path(__file__).resolve().parent
AXES = {"sfo": "SFO calls", "rounds": "rounds", "bytes": "bytes sent"}
SETTINGS = {"balanced": "Balanced scaling", "paper": "The paper's own setting"}
QUICK = {"seeds": 2, "tuning": {"search": "halving", "trials": 3, "seeds": [100], "widen": 0}}
POINTS = 120  # of a curve


def file_of(name: str, quick: bool) -> dict[str, Any]:
    """A study file; the quick one has small synthetic data, few draws and two seeds."""
    found = tomllib.loads((HERE / "studies" / f"{name}.toml").read_text())
    if quick:
        found |= QUICK
        found["problem"][0] |= {"data": ["synthetic"], "samples": 320, "features": 12}
        found["budget"] |= {"amount": 40} if "amount" in found["budget"] else {"passes": 40}
    return found


def rows_of(name: str, study: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every run at the last record within its budget, and every method's tuning, as plain rows."""
    runs, tuned = [], []
    for cell, comparison in study.comparisons.items():
        finals = study.finals[study.finals.cell == cell]
        budget = comparison.results[finals.method.iloc[0], finals.seed.iloc[0]].record.settings.limits.given()
        for row in finals.itertuples():
            spent = {one: int(getattr(row, one)) for one in ("iteration", *AXES)}
            reached = {one: float(getattr(row, one)) for one in ("started", "primal", "grad_norm", "dual_gap")}
            about = {"study": name, "cell": cell, "budget": float(next(iter(budget.values())))}
            runs.append({**about, "method": row.method, "seed": row.seed, **spent, **reached})
        tuning = study.tunings[cell]
        for row in tuning.table.itertuples():
            scores = _whole_trials(tuning, row.method)
            tuned.append({
                "study": name, "cell": cell, "method": row.method, "configurations": row.configurations,
                "trials": row.trials, "diverged": row.diverged, "parameters": json.dumps(row.parameters),
                "edges": ", ".join(row.at_edge) or "no", "remark": row.remark or "none",
                "best": scores[0] if scores else None, "third": scores[2] if len(scores) > 2 else None,
            })  # fmt: skip
    return runs, tuned


def _whole_trials(tuning: Any, method: str) -> list[float]:
    """The scores of a method's trials with the whole budget, best first."""
    mine = [one for one in tuning.records if one["method"] == method and one["budget"] == tuning.budget]
    return sorted(float(one["primal"]) for one in mine if one["primal"] is not None)


def text_of(tables: dict[str, list[dict[str, Any]]]) -> tuple[str, str]:
    """What is decided on each problem, and the numbers behind it."""
    axis = tables["setting"][0]["axis"]
    sentences, parts = [], []
    for (study,), all_of in grouped(tables["runs"], "study").items():
        searched = [row for row in tables["tuned"] if row["study"] == study]
        sentences.append(f"- {SETTINGS.get(study.split('_')[-1], study)}: {_reach(all_of, searched)}")
        for (cell,), mine in grouped(all_of, "cell").items():
            tuned = [row for row in searched if row["cell"] == cell]
            sentences.append(f"- {_sentence(cell, mine, tuned, axis)}")
            parts.append(f"\n## {study}: {cell}\n\n{_numbers(mine, tuned)}")
    body = [
        __doc__.split("\n\n", 1)[1],
        "P, medians over seeds with bootstrap intervals; a lead is named where the 95 % interval of the paired "
        "differences excludes 0, and by name only where it exceeds what lies between the best and the third best trial "
        "of either method, as another draw of trials might move a winner by that much; `followed` counts the runs "
        "whose dual gap P(x_bar) - f(x_bar, y_bar) is less than what P has gained.\n",
        "\n".join(sentences),
        *parts,
    ]
    first, *rest = sentences
    return "\n".join([first[2:], *(one[2:] for one in rest)]).replace("\n", " "), "\n".join(body)


def _reach(runs: list[dict[str, Any]], tuned: list[dict[str, Any]]) -> str:
    """How far methods came from their start, and how many winners might have been better further out."""
    falls = [1 - row["primal"] / row["started"] for row in runs]
    at_edge = sum(row["edges"] != "no" for row in tuned)
    stayed = sum(not _followed(row) for row in runs)
    return (
        f"P falls by {100 * min(falls):.2g} to {100 * max(falls):.2g} % of its start; {at_edge} of {len(tuned)} "
        f"winners have a parameter at an edge of what was tried; y has not followed in {stayed} of {len(runs)} runs."
    )


def _by_method(rows: list[dict[str, Any]], name: str) -> dict[str, dict[int, float]]:
    return {method: {row["seed"]: row[name] for row in mine} for (method,), mine in grouped(rows, "method").items()}


def _sentence(cell: str, rows: list[dict[str, Any]], tuned: list[dict[str, Any]], axis: str) -> str:
    """Who leads on one problem, as far as the seeds decide it, and the search."""
    values = _by_method(rows, "primal")
    medians = {method: float(np.median(list(of.values()))) for method, of in values.items()}
    order = sorted(medians, key=lambda method: medians[method])
    compared = {one: paired_difference(*_pairs(values, order[0], one)) for one in order[1:]}
    spread = {row["method"]: row["third"] - row["best"] for row in tuned if row["third"] is not None}
    open_by = {one: max(spread.get(order[0], 0.0), spread.get(one, 0.0)) for one in order[1:]}
    decided = [one for one in order[1:] if compared[one].decided]
    behind = [one for one in decided if medians[one] - medians[order[0]] > open_by[one]]
    close, equal = [o for o in decided if o not in behind], [o for o in order[1:] if o not in decided]
    start, budget = rows[0]["started"], rows[0]["budget"]
    text = f"{cell}, at {short(budget)} {AXES[axis]}, from P = {start:.5g}: "
    text += f"{order[0]} has the least, {medians[order[0]]:.5g}"
    if behind:
        text += f", ahead of {', '.join(f'{one} ({medians[one]:.5g})' for one in behind)}"
    if close:
        text += f"; by less than the search leaves open, ahead of {', '.join(f'{o} ({medians[o]:.5g})' for o in close)}"
    if equal:
        text += f"; undecided against {', '.join(f'{one} ({medians[one]:.5g})' for one in equal)}"
    stayed = {m: [not _followed(row) for row in mine] for (m,), mine in grouped(rows, "method").items()}
    lost = [f"{method} ({sum(of)} of {len(of)})" for method, of in stayed.items() if any(of)]
    text += f"; y has not followed in runs of {', '.join(lost)}" if lost else ""
    return text + "."


def _pairs(values: dict[str, dict[int, float]], first: str, second: str) -> tuple[list[float], list[float]]:
    shared = [seed for seed in values[first] if seed in values[second]]
    return [values[first][seed] for seed in shared], [values[second][seed] for seed in shared]


def _followed(row: dict[str, Any]) -> bool:
    return has_followed(row["started"], row["primal"], float("nan") if row["dual_gap"] is None else row["dual_gap"])


def _numbers(rows: list[dict[str, Any]], tuned: list[dict[str, Any]]) -> str:
    """The table of one problem: what each method reached and spent, its parameters, and what to know of them."""
    shown = []
    for (method,), mine in grouped(rows, "method").items():
        middle, low, high, _ = median_interval([row["primal"] for row in mine])
        spent = {one: float(np.median([row[one] for row in mine])) for one in ("grad_norm", "dual_gap", *AXES)}
        (search,) = [row for row in tuned if row["method"] == method]
        said = " ".join(f"{name}={value}" for name, value in json.loads(search["parameters"]).items())
        shown.append({
            "method": method, "P": f"{middle:.5g}", "interval": f"{low:.5g} to {high:.5g}", **spent,
            "followed": f"{sum(map(_followed, mine))} of {len(mine)}", "tried": search["configurations"],
            "parameters": said, "edges": search["edges"],
        })  # fmt: skip
    shown.sort(key=lambda row: float(row["P"]))
    missing = [f"{row['method']}: {row['remark']}" for row in tuned if row["parameters"] == "{}"]
    columns = {"method": "method", "P": "P", "interval": "95 % interval", "grad_norm": "norm of its gradient",
               "dual_gap": "dual gap", "followed": "followed", **AXES, "tried": "configurations tried",
               "parameters": "parameters", "edges": "at an edge"}  # fmt: skip
    return table(shown, columns) + ("".join(f"\n\nNo winner: {one}." for one in missing))


def figure(name: str, study: Any, axis: str) -> go.Figure:
    """P against each of the three prices, a row per problem: medians, with the range of the seeds."""
    cells = list(study.comparisons.items())
    order = [axis, *(other for other in AXES if other != axis)]
    said = [f"{cell.split(',')[0]}, {'paper' if name.endswith('paper') else 'balanced'}" for cell, _ in cells]
    titles = [f"{one}: against {AXES[x]}" for one in said for x in order]
    page = make_subplots(
        rows=len(cells), cols=3, subplot_titles=titles, horizontal_spacing=0.06, vertical_spacing=0.24 / len(cells)
    )
    methods = dict.fromkeys(method for _, comparison in cells for method, _ in comparison.results)
    named: set[str] = set()  # in the legend
    for row, (_, comparison) in enumerate(cells, 1):
        start = max(result.history.primal.iloc[0] for result in comparison.results.values())
        for column, x in enumerate(order, 1):
            curves = comparison.curves(x=x, y="primal", points=POINTS, quantiles=(0.0, 1.0))
            for method in methods:
                if not any(one == method for one, _ in comparison.results):
                    continue
                part = curves[(curves.method == method) & curves["median"].notna()]
                look = {"color": colour(method), "width": 2, "dash": "dash" if method.endswith("printed") else "solid"}
                ends = {"legendgroup": method, "showlegend": False, "hoverinfo": "skip", "mode": "lines"}
                page.add_scatter(x=part[x], y=part.high, line={"width": 0}, **ends, row=row, col=column)
                page.add_scatter(x=part[x], y=part.low, line={"width": 0}, fill="tonexty", fillcolor=_faint(method),
                                 **ends, row=row, col=column)  # fmt: skip
                ends_at = [r.history.iloc[-1] for (m, _), r in comparison.results.items() if m == method]
                last = [float(np.median([one[name] for one in ends_at])) for name in (x, "primal")]
                xs, ys = [*part[x][part[x] < last[0]], last[0]], [*part["median"][part[x] < last[0]], last[1]]
                page.add_scatter(x=xs, y=ys, name=method, legendgroup=method, mode="lines",
                                 showlegend=method not in named, line=look, row=row, col=column)  # fmt: skip
                named.add(method)
            low = min(result.history.primal.min() for result in comparison.results.values())
            page.update_yaxes(range=[low - 0.03 * (start - low), start + 0.05 * (start - low)], row=row, col=column)
        page.update_yaxes(title_text="P(x̄)", row=row, col=1)
    page.update_annotations(font_size=13)
    legend = {"orientation": "h", "y": 1.0, "yanchor": "top", "yref": "container", "x": 0.05}
    page.update_layout(height=310 * len(cells) + 70, width=1250, template="plotly_white", legend=legend)
    return page.update_layout(margin={"l": 70, "r": 20, "t": 80, "b": 40})


def _faint(method: str) -> str:
    red, green, blue = (int(colour(method)[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def main(name: str, description: str, axis: str, studies: tuple[str, ...], title: str) -> None:
    """The whole figure, or one of its studies beside what findings/ has of the others; a picture for each study."""
    given = options(name, description, studies)
    quick = given.size != "full"
    chosen = (given.study,) if given.study else studies[:1] if quick else studies
    kept = () if quick else tuple(one for one in studies if one not in chosen)
    tables, pages = _kept(name, kept), []
    for one in chosen:
        study = rd.study(file_of(one, quick), given.out / one, workers=given.workers, progress=not quick)
        runs, tuned = rows_of(one, study)
        trials = sum(record["took"] for tuning in study.tunings.values() for record in tuning.records)
        spent = sum(r.history.seconds.iloc[-1] for c in study.comparisons.values() for r in c.results.values())
        for stem, rows in {"runs": runs, "tuned": tuned, "took": [{"study": one, "seconds": trials + spent}]}.items():
            tables[stem] = sorted(tables[stem] + rows, key=lambda row: studies.index(row["study"]))
        pages.append(figure(one, study, axis))
        if not quick:
            pages[-1].write_image(FINDINGS / f"{one}.png")
    drawn = [page.to_html(full_html=False, include_plotlyjs=page is pages[0]) for page in pages]
    (given.out / "figure.html").write_text("\n".join(drawn), encoding="utf-8")
    given.seconds = {row["study"]: float(row["seconds"]) for row in tables["took"]}
    publish(given, title, text_of, {"setting": [{"axis": axis}], **tables})


def _kept(name: str, studies: tuple[str, ...]) -> dict[str, list[dict[str, Any]]]:
    """What findings/ has of these studies."""
    found = read_tables(FINDINGS, name) if studies else {}
    missing = [one for one in studies if one not in {row["study"] for row in found.get("took", [])}]
    if missing:
        raise SystemExit(f"--study needs the findings of {', '.join(missing)}, which are not there: run without it.")
    return {stem: [row for row in found.get(stem, []) if row["study"] in studies] for stem in ("runs", "tuned", "took")}
