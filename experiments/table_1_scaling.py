"""Table 1 of the paper, measured: how SFO, rounds and bytes to reach |grad P| <= epsilon grow with what it names.

    python experiments/table_1_scaling.py [--quick]

The games (table_1/game.py) have a nonconvex P with bounded level sets; f is the same function at every point of a
sweep, except against kappa. A run has arrived after t iterations when the mean of |grad P(x_bar)| over the iterations
t/2 + 1, ..., t is at most epsilon: no lucky iterate counts. Sweeps: epsilon over a decade, without and with an active
constraint on y, and online; kappa = L/mu at fixed L; the spectral gap of a complete graph of 8 over three decades; N;
and m with N fixed. Against kappa and m the graph is complete with gap 1, so that the network plays no part; elsewhere
it is a ring of 8 with self weight 1/2.

Parameters: one search for all methods (table_1/search.py), by factors of 2, then 2^(1/2), then 2^(1/4), for the fewest
SFO, rounds and bytes each by itself, on instances of its own, on all of which a run must arrive; the least worst cost
wins. Costs are reported on other instances. Searched are eta (gamma is 1; against kappa it is searched too), and with
it: DREAM K = K0 = K' up to 4/sqrt(gap), and gossip or FastMix; GT-GDA and GT-SRVR their form, cta or atc; GT-DA R >= 2
(with R = 1 it is GT-GDA in two rounds); online DREAM's multiple of b', and DM-HSGD's b and beta. The rest has the form
of the theory: DREAM b = sqrt(b'/m), p = b/(b + b'), q = 1, online b' a multiple of sigma^2/(m epsilon^2); GT-SRVR
Q = b = sqrt(n); DM-HSGD b0 = b/beta; all rounded up. Online, fewest rounds and bytes are sought among configurations
with at most twice the fewest SFO, since batches without bound would save both.

Exponents are least-squares slopes of log cost on log x. Every point has instances of its own. The 95 % interval is the
wider of a bootstrap over the instances and of Student's for the line through the points' means, which also sees that
the parameters of a point are chosen once and that a line may bend. Predictions are Table 1 with the iterations of exact
descent on these games, epsilon^-1.77 over the decade measured and kappa^1, in the place of its worst case epsilon^-2
and kappa^2, which bounds them from above: less growth contradicts nothing. Gaps above 0.1 are measured but left out of
the fit, because there the network hardly matters. A pilot found standard deviations of log cost between instances of
0.1 to 0.3, up to 0.6 online: 12 instances at each of 5 points over a decade then give an exponent within 0.05 to 0.2,
enough to tell 1/2 from 1 and -1.8 from -2.8, not always -1.8 from -2.
"""

from typing import Any

from sweeps import options, run_all, save_figure
from table_1 import text
from table_1.figure import figure_of
from table_1.game import START, average_smoothness
from table_1.plan import L, Sweep, sweeps
from table_1.trial import trial
from table_1.verdicts import Row, pairs_of, slopes_of
from texts import publish

NAME, TITLE = "table_1_scaling", "Table 1, measured"


def powers(first: float, last: float, count: int) -> tuple[float, ...]:
    """Values with equal ratios, rounded to three digits."""
    return tuple(float(f"{first * (last / first) ** (k / (count - 1)):.3g}") for k in range(count))


SIZES: dict[str, dict[str, Any]] = {
    "full": dict(
        tuning=8, instances=12, distances=(4, 2, 1), epsilons={"kappa": 0.03, "gap": 0.04, "N": 0.02, "m": 0.02},
        values={
            "epsilon": powers(0.04, 0.004, 6), "epsilon constrained": powers(0.04, 0.004, 5),
            "kappa": (2.0, 4.0, 8.0, 16.0, 32.0), "gap": (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001),
            "N": (64.0, 256.0, 1024.0, 4096.0, 16384.0), "m": (2.0, 4.0, 8.0, 16.0, 32.0),
            "epsilon online": powers(0.04, 0.004, 6),
        },
    ),
    "quick": dict(
        tuning=2, instances=3, distances=(4,), epsilons={"kappa": 0.08, "gap": 0.09, "N": 0.08, "m": 0.08},
        values={
            "epsilon": (0.1, 0.08, 0.06), "epsilon constrained": (0.1, 0.08, 0.06), "kappa": (2.0, 3.0, 4.0),
            "gap": (0.1, 0.07, 0.05), "N": (64.0, 256.0, 1024.0), "m": (2.0, 4.0, 8.0),
            "epsilon online": (0.14, 0.12, 0.1),
        },
    ),
}  # fmt: skip


def sweeps_of(size: dict[str, Any]) -> dict[str, Sweep]:
    """The sweeps of a size."""
    return sweeps(size["values"], size["epsilons"])


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One method at one point: search, then report."""
    size = SIZES[job["size"]]
    return trial(sweeps_of(size)[job["sweep"]], job["x"], job["method"], size)


def tables_of(rows: list[dict[str, Any]], given: Any) -> dict[str, list[Row]]:
    """What is published, and read back for the text."""
    runs, chosen = (
        [{"sweep": row["sweep"], "x": row["x"], "method": row["method"], **one} for row in rows for one in row[kind]]
        for kind in ("runs", "chosen")
    )
    size = SIZES[given.size]
    sweep = sweeps_of(size)["kappa"]
    smoothness = [
        average_smoothness(sweep.setting(x).game(seed), START)
        for x in sweep.values for seed in sweep.seeds(x, size["tuning"], size["instances"])[1]
    ]  # fmt: skip
    setting = {
        "size": given.size, "seconds": round(sum(given.seconds.values()), 1), "tuning": size["tuning"],
        "instances": size["instances"], "L": L, "L_least": min(smoothness), "L_most": max(smoothness),
    }  # fmt: skip
    runs = rounded(runs)
    found = {"setting": [setting], "runs": runs, "chosen": chosen, "slopes": slopes_of(runs), "pairs": pairs_of(runs)}
    return {name: rounded(those) for name, those in found.items()}


def rounded(rows: list[Row]) -> list[Row]:
    """Rows with six digits, as the files keep them."""
    return [{k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def text_of(tables: dict[str, list[Row]]) -> tuple[str, str]:
    """What README.md shows, and the rest."""
    runs, slopes, pairs, chosen = (tables[name] for name in ("runs", "slopes", "pairs", "chosen"))
    (setting,) = tables["setting"]
    body = [
        (__doc__ or "").split("\n\n", 2)[2], *text.exponents(slopes), *text.cheapest(runs, pairs),
        *text.parameters(chosen), text.trust(runs, setting),
    ]  # fmt: skip
    return text.summary(runs, slopes, pairs), "\n".join(body)


def main() -> None:
    given = options(NAME, __doc__)
    size = SIZES[given.size]
    jobs = [
        dict(size=given.size, sweep=name, x=x, method=method)
        for name, sweep in sweeps_of(size).items() for x in sweep.values for method in sweep.methods
    ]  # fmt: skip
    tables = tables_of(run_all(measure, jobs, given), given)
    save_figure(given, figure_of(publish(given, TITLE, text_of, tables)["runs"]))


if __name__ == "__main__":
    main()
