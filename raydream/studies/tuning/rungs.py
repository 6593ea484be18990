"""The rounds of successive halving, as they show in what was tried."""

from collections.abc import Iterable

from raydream.studies.tuning.trials import Record


def rungs(records: Iterable[Record]) -> list[int]:
    """For each trial the number of smaller budgets that the same configuration and seed was tried with.

    Trials of one round may have different budgets, as each is judged after its own start.
    """
    every = list(records)
    budgets: dict[str, set[float]] = {}
    for record in every:
        budgets.setdefault(_configured(record), set()).add(record["budget"])
    return [sum(one < record["budget"] for one in budgets[_configured(record)]) for record in every]


def _configured(record: Record) -> str:
    return repr([record["method"], record["parameters"], record["seed"]])
