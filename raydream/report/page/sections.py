"""The parts of the page that need no program: heading, table of runs, configurations. Every word is escaped."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from raydream.columns import COSTS, column
from raydream.report.collect import Run
from raydream.report.deciding import DECIDED, Judgement
from raydream.report.figures.reach import si
from raydream.report.page.reproduce import reproduce
from raydream.report.setting import said_of
from raydream.report.tables.standing import pairs, standing
from raydream.report.tables.table import Cell, Table
from raydream.storage.record import RunRecord


def heading(
    title: str,
    every: list[Run],
    groups: dict[str, list[Run]],
    failures: Mapping[Any, str],
    judged: Judgement,
    tuned: str = "",
    missing: Mapping[str, str] | None = None,
) -> str:
    """What was run, on what, and what came of it.

    tuned, missing  how the parameters were found, and which methods won nothing, and why
    """
    networked = (run.record for run in every if run.record is not None and run.record.problem.agents > 1)
    record = next(networked, every[0].record)
    lead = [] if record is None else said_of(record.problem, record.topology)
    made = [] if record is None else _versions(record)
    alone = len(every) == 1 and not failures
    shown = tiles(_of_one(every[0]) if alone else _of_many(every, groups, failures, judged))
    only = every[0] if len(every) == 1 else None
    if only is not None and only.reason and only.outcome != "completed":
        lead.append(f"{only.outcome}: {only.reason}")
    lead += [tuned] if tuned else []
    lead += [f"not compared: {label}: {why}" for label, why in (missing or {}).items()]
    return f"<h1>{escape(title)}</h1><p class=lead>{escape('; '.join(lead))}{'.' if lead else ''}</p>{shown}" + (
        f"<p class=made>{escape(', '.join(made))}</p>" if made else ""
    )


def tiles(facts: Mapping[str, str]) -> str:
    """Facts at a glance."""
    shown = "".join(
        f'<div class="tile"><dt>{escape(name)}</dt><dd title="{escape(value)}">{escape(value)}</dd></div>'
        for name, value in facts.items()
    )
    return f"<dl class=tiles>{shown}</dl>"


def table(identity: str, names: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """A table of words, which a click on a column's name sorts."""
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td data-sort="{escape(cell)}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f'<table id={identity} class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _versions(record: RunRecord) -> list[str]:
    """What it was made with."""
    named = {"raydream": record.raydream, **record.versions} if record.raydream else {}
    return [f"{name} {version}" for name, version in named.items()]


def _of_one(run: Run) -> dict[str, str]:
    shown = {
        "outcome": run.outcome or "-",
        "iterations": _number(run.last("iteration")),
        "P(x̄)": f"{run.last('primal'):.6g}",
        "‖∇P(x̄)‖": f"{run.last('grad_norm'):.3g}",
        "SFO calls": si(run.last("sfo")),
        "rounds": si(run.last("rounds")),
        "payload": si(run.last("bytes")) + "B",
        "seconds": f"{run.last('seconds'):.3g}",
        "simulated seconds": f"{run.last('sim_seconds'):.3g}",
    }
    shown = {name: value for name, value in shown.items() if value not in ("-", "nan", "nanB")}
    shown |= {} if run.followed else {"y": "has not followed"}
    return shown | ({"recoveries": str(len(run.recoveries))} if run.recoveries else {})


def _of_many(
    every: list[Run], groups: dict[str, list[Run]], failures: Mapping[Any, str], judged: Judgement
) -> dict[str, str]:  # fmt: skip
    outcomes = Counter(run.outcome or "recorded" for run in every) + Counter({"failed": len(failures)})
    seeds, lagging = len({run.seed for run in every}), sum(not run.followed for run in every)
    shown = {
        "runs": str(len(every) + len(failures)),
        "methods": str(len(groups)),
        "seeds": str(seeds),
        "outcomes": ", ".join(f"{count} {name}" for name, count in outcomes.items() if count),
    }
    for one in judged.decisions:
        leader, median, over, others = one.leader
        shown[f"best median {column(one.metric).label}"] = f"{median:.3g} ({leader}), decided over {over} of {others}"
    return shown | ({"y has not followed": f"in {lagging} of {len(every)} runs"} if lagging else {})


def tabled(one: Table, identity: str, kind: str = "told") -> str:
    """A table of the report: the same cells as in LaTeX and on a terminal, the best bold."""
    head = "".join(f'<th scope="col"><button type="button">{escape(each.text)}</button></th>' for each in one.heads)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in one.rows)
    return (
        f'<table id={identity} class="{kind}" data-saves="{escape(one.name)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(cell: Cell) -> str:
    mark = f' class="{cell.mark}"' if cell.mark else ""
    return f'<td data-sort="{escape(str(cell.values[0]))}"{mark}>{escape(cell.text)}</td>'


def who_leads(every: list[Run], judged: Judgement, failed: Mapping[str, int]) -> str:
    """Verdicts, medians with intervals, and every pair; or why there is none. Nothing where there is one method."""
    if not judged.decisions:
        return f"<p class=note>No verdict: {escape(judged.why_not)}.</p>" if judged.why_not else ""
    said = "".join(f"<p>{escape(one.verdict)}</p>" for one in judged.decisions)
    medians, differences = tabled(standing(every, failed, judged), "medians"), tabled(pairs(judged), "pairs")
    return (
        f'{said}<div id="standing" class="pair"></div><div class="scroll">{medians}</div>'
        f'<div class="scroll">{differences}</div><p class="note">{escape(DECIDED.format(where=judged.where))}</p>'
    )


def runs_table(every: list[Run], failures: Mapping[Any, str]) -> str:
    """One row per run."""
    names = ("method", "seed", "outcome", "iterations", "P(x̄)", "‖∇P(x̄)‖", "SFO", "rounds", "messages", "bytes", "s")
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in names)
    rows = []
    for run in every:
        cells = [
            (run.label, run.label),
            ("" if run.seed is None else str(run.seed), run.seed),
            (", ".join([run.outcome or "-", *([] if run.followed else ["y has not followed"])]), run.outcome),
            (_number(run.last("iteration")), run.last("iteration")),
            (f"{run.last('primal'):.6g}", run.last("primal")),
            (f"{run.last('grad_norm'):.4g}", run.last("grad_norm")),
            *((_number(run.last(name)), run.last(name)) for name in COSTS),
        ]
        hint = f' title="{escape(run.reason)}"' if run.reason else ""
        row = "".join(f'<td data-sort="{escape(str(value))}">{escape(text)}</td>' for text, value in cells)
        rows.append(f"<tr{hint}>{row}</tr>")
    for key, sentence in failures.items():
        label, seed = key if isinstance(key, tuple) and len(key) == 2 else (key, "")
        rows.append(
            f'<tr class=failed><td data-sort="{escape(str(label))}">{escape(str(label))}</td>'
            f'<td data-sort="{escape(str(seed))}">{escape(str(seed))}</td>'
            f'<td data-sort="failed">failed</td><td colspan=8>{escape(sentence)}</td></tr>'
        )
    return f"<table id=runs><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def configurations(groups: dict[str, list[Run]]) -> str:
    """For each label how to run it again, and its full configuration."""
    parts = []
    for place, (label, runs) in enumerate(groups.items()):
        config = json.dumps(_short(runs[0].config), indent=2, default=str)
        noted = [f"seed {run.seed}: {json.dumps(one, default=str)}" for run in runs for one in run.recoveries]
        recoveries = f"<h4>Recoveries</h4><pre>{escape(chr(10).join(noted))}</pre>" if noted else ""
        parts.append(
            f"<details{' open' if place == 0 and len(groups) == 1 else ''}><summary>{escape(label)}</summary>"
            f'<h4>To run it again <button type="button" class="copy">copy</button></h4>'
            f"<pre>{escape(reproduce(runs))}</pre>{recoveries}<h4>Configuration</h4><pre>{escape(config)}</pre></details>"
        )
    return "".join(parts)


def _short(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the mixing matrix named, not printed, where it is long."""
    topology = config.get("topology") or {}
    entries = len((topology.get("W") or {}).get("data", []))
    if not entries:
        return config
    return {**config, "topology": {**topology, "W": f"{entries} entries in run.json"}}


def _number(value: float) -> str:
    if value != value:
        return "-"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4g}"
