"""What an iteration costs: a model fitted to measurements of this machine, and what it says of a hundred machines.

    python experiments/scale.py [--quick]

DREAM (K and K rounds, b = 8, gossip) on the paper's problem with random rows: m agents, d numbers in each row, a ring
or an exponential graph; all in one process, packed in two actors, or in an actor each, over shared memory or over TCP,
as actors of two machines would use it. Time per iteration is the median over blocks of ten iterations. On c cores, with
P processes and R rounds per iteration,

    seconds = (P / min(P, c)) a_0 + (m / min(P, c)) [a_1 + a_2 d + R deg a_3 d]
              + (P / min(P, c)) R [a_4 + a_5 peers + a_6 laid + a_7 heard] + P a_8 + m d a_9

where deg counts an agent's neighbours, and of a process peers are the others that it hears, laid and heard the bytes of
the rows that it says to them and hears from them: what is said is laid into memory once, and sent over TCP to each. a_4
to a_7 are fitted apart for memory and for TCP; they and a_8, a_9, the share of a call of Ray and of the rows that it
brings to the driver, a call for every ten iterations here, are 0 in one process. No a is negative, and errors are
relative. Settings fall into four parts at random; each is predicted from a fit to the other three.
"""

import os
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.optimize import nnls
from sweeps import options, run_all, save_figure
from texts import Row, Tables, publish, table

import raydream as rd

NAME, TITLE = "scale", "What an iteration costs, and what it would on a hundred machines"
COSTS = (
    "process", "agent", "number", "weighed number",
    "memory: round", "memory: peer", "memory: byte said", "memory: byte heard",
    "tcp: round", "tcp: peer", "tcp: byte said", "tcp: byte heard", "call of Ray", "number brought",
)  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "full": dict(agents=(8, 16), rows=(2048, 16384), K=(1, 3), networks=("ring", "exponential"), blocks=7,
                 places=("local", "packed", "packed tcp", "actors", "actors tcp")),
    "quick": dict(agents=(4,), rows=(64, 256), K=(1, 2), networks=("ring",), blocks=2, places=("local",)),
}  # fmt: skip
BLOCK = 10  # iterations
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
PARTS = 4  # of the settings, each predicted from the others
GOAL = 0.25  # for a relative error
FEATURES = 20
# A hundred machines of two cores with eight agents each, in a data centre and between regions: seconds and bytes/s.
CLUSTER = dict(m=800, machines=100, degree=2, d=16384, K=1)
NETWORKS = {"data centre": (1e-4, 1e9), "cloud regions": (5e-2, 1e7)}


def measure(job: Row) -> Row:
    """Seconds per iteration of one setting."""
    m = job["m"]
    features, labels = rd.data.synthetic(job["rows"], FEATURES, density=0.2, seed=0)
    problem = rd.problems.RobustLogisticRegression(features, labels, agents=m)
    topology = {"ring": rd.topology.ring, "exponential": rd.topology.exponential}[job["network"]](m)
    method = rd.DREAM(eta=1e-3, gamma=1.0, b=8, p=0.01, K=job["K"], mixing="gossip")
    result = rd.run(
        problem, topology, method, iterations=BLOCK * (job["blocks"] + 1), record_every=BLOCK, progress=False, seed=0,
        backend=_backend(job["place"], m), evaluation=rd.Evaluation(every=job["blocks"] + 1),
    )  # fmt: skip
    blocks = np.diff(result.history.seconds.to_numpy())[1:] / BLOCK
    degree = float(np.mean([len(those) for those in topology.neighbours]))
    return {"time": float(np.median(blocks)), "d": problem.dim_x + problem.dim_y, "degree": degree}


def _backend(place: str, m: int) -> Any:
    if place == "local":
        return "local"
    links = "tcp" if place.endswith("tcp") else "direct"
    return rd.RayBackend(agents_per_actor=m // CORES if place.startswith("packed") else 1, links=links)


def features_of(row: Row, cores: int) -> list[float]:
    """What multiplies each of COSTS."""
    m, d, rounds = row["m"], row["d"], 2 * row["K"]
    tcp = row["place"].endswith("tcp")
    processes = {"local": 1, "packed": min(m, cores)}.get(row["place"].removesuffix(" tcp"), m)
    busy, on_ray = min(processes, cores), row["place"] != "local"
    peers, rows = _neighbours(row, m / processes, processes)
    said = [1.0, peers, 8 * d * rows * (peers if tcp else 1), 8 * d * rows * peers]
    sent = [processes / busy * rounds * one for one in said] if processes > 1 else [0.0] * 4
    return [
        processes / busy, m / busy, m / busy * d, m / busy * rounds * row["degree"] * d,
        *([0.0] * 4 if tcp else sent), *(sent if tcp else [0.0] * 4),
        processes / BLOCK * on_ray, m * d / BLOCK * on_ray,
    ]  # fmt: skip


def _neighbours(row: Row, hosted: float, processes: int) -> tuple[float, float]:
    """Of a process with a stretch of agents: how many others it hears, and how many rows it says to each."""
    if hosted == 1:
        return min(row["degree"], processes - 1.0), 1.0
    ends = 2.0 if processes == 2 else 1.0  # of a ring's stretch, to the same neighbour where there is one only
    return min(2.0, processes - 1.0), ends if row["network"] == "ring" else hosted


def fitted(rows: list[Row], cores: int) -> Any:
    """The a of the model, by least squares of relative errors, none negative."""
    A = np.array([features_of(row, cores) for row in rows]) / np.array([row["time"] for row in rows])[:, None]
    scale = np.where(A.max(axis=0) > 0, A.max(axis=0), 1.0)
    return nnls(A / scale, np.ones(len(rows)))[0] / scale


def predicted(costs: Any, row: Row, cores: int) -> float:
    return float(np.dot(costs, features_of(row, cores)))


def on_cluster(costs: Any, cores: int, latency: float, bandwidth: float) -> float:
    """Seconds per iteration of CLUSTER: each machine packs its agents in as many actors as it has cores."""
    m, machines, d, rounds = (CLUSTER[name] for name in ("m", "machines", "d", "K"))
    rounds, on_one = 2 * rounds, m // machines
    inside = {"m": on_one, "d": d, "K": CLUSTER["K"], "degree": CLUSTER["degree"], "place": "packed", "network": "ring"}
    crossing = 8 * d  # to each of two neighbours: a stretch of the ring has two ends
    of = dict(zip(COSTS, costs, strict=True))
    between = of["tcp: round"] + 2 * of["tcp: peer"] + 2 * crossing * (of["tcp: byte said"] + of["tcp: byte heard"])
    calls = (machines - 1) * cores * of["call of Ray"] / BLOCK + (m - on_one) * d * of["number brought"] / BLOCK
    return predicted(costs, inside, cores) + calls + rounds * (between + latency + crossing / bandwidth)


def main() -> None:
    given = options(NAME, __doc__)
    given.workers = 1  # what is measured has the machine to itself
    size = SIZES[given.size]
    jobs = [
        dict(place=place, m=m, rows=rows, K=K, network=network, blocks=size["blocks"])
        for place in size["places"] for m in size["agents"] for network in size["networks"]
        for rows in size["rows"] for K in size["K"]
    ]  # fmt: skip
    with rd.RayBackend().shared(max(size["agents"])) if len(size["places"]) > 1 else _nothing():
        measure(jobs[0])  # the first run pays for imports
        rows = run_all(measure, jobs, given)
    rows = [{**row, "part": number % PARTS} for number, row in enumerate(_shuffled(rows))]
    tables = publish(given, TITLE, text_of, {"setting": [{"cores": CORES}], "runs": rows})
    save_figure(given, figure_of(tables))


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _shuffled(rows: list[Row]) -> list[Row]:
    return [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]


def held_out(tables: Tables) -> list[float]:
    """The time of every setting, predicted from a fit without its part."""
    (setting,) = tables["setting"]
    cores, runs = setting["cores"], tables["runs"]
    costs = {part: fitted([row for row in runs if row["part"] != part], cores) for part in range(PARTS)}
    return [predicted(costs[row["part"]], row, cores) for row in runs]


def text_of(tables: Tables) -> tuple[str, str]:
    """How well the model predicts, its costs, and the hundred machines."""
    (setting,) = tables["setting"]
    cores, runs = setting["cores"], tables["runs"]
    made = held_out(tables)
    errors = [abs(time / row["time"] - 1) for time, row in zip(made, runs, strict=True)]
    costs = fitted(runs, cores)
    said = ", ".join(f"{name} {1e3 * on_cluster(costs, cores, *price):.3g} ms" for name, price in NETWORKS.items())
    summary = (
        f"Held out of the fit, times per iteration of {len(runs)} settings are off by {100 * np.median(errors):.0f} % "
        f"in the median and {100 * max(errors):.0f} % at most; {sum(one <= GOAL for one in errors)} are within the "
        f"goal of {100 * GOAL:.0f} %. A hundred machines of {cores} cores with eight agents each, in a ring, rows of "
        f"{CLUSTER['d']} numbers, one round a mixing and a record every {BLOCK} iterations, would take for an "
        f"iteration: {said}."
    )
    rows = [
        {"place": r["place"], "agents": r["m"], "network": r["network"], "d": r["d"], "K": r["K"],
         "ms": 1e3 * r["time"], "held out": 1e3 * time}
        for time, r in sorted(zip(made, runs, strict=True), key=lambda pair: _order(pair[1]))
    ]  # fmt: skip
    body = [
        __doc__.split("\n\n", 2)[2].strip(),
        "The prediction for a hundred machines adds latency and bytes over bandwidth to what TCP costs on one machine; "
        "nobody has run it.",
        table([{"cost": n, "microseconds": 1e6 * c} for n, c in zip(COSTS, costs, strict=True)],
              {"cost": "cost of one", "microseconds": "microseconds"}),
        table(rows, {name: name for name in rows[0]}),
    ]  # fmt: skip
    return summary, "\n\n".join(body)


def _order(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("place", "m", "network", "d", "K"))


def figure_of(tables: Tables) -> go.Figure:
    """Predicted against measured, on a line where both are the same."""
    figure, made = go.Figure(), held_out(tables)
    for place in dict.fromkeys(row["place"] for row in tables["runs"]):
        mine = [(row, time) for row, time in zip(tables["runs"], made, strict=True) if row["place"] == place]
        text = [f"m={row['m']}, {row['network']}, d={row['d']}, K={row['K']}" for row, _ in mine]
        figure.add_scatter(x=[1e3 * row["time"] for row, _ in mine], y=[1e3 * time for _, time in mine], name=place,
                           mode="markers", text=text)  # fmt: skip
    ends = [1e3 * f(row["time"] for row in tables["runs"]) for f in (min, max)]
    figure.add_scatter(x=ends, y=ends, mode="lines", line={"dash": "dot", "color": "grey"}, showlegend=False)
    return figure.update_xaxes(type="log", title="measured, ms").update_yaxes(type="log", title="predicted, ms")


if __name__ == "__main__":
    main()
