"""What a page about a tuning says: the setting, the table, how to compare the winners, and what figures mean."""

import shlex
from collections import Counter
from typing import Any

from raydream.columns import column
from raydream.errors import RecordError
from raydream.report.collect import words
from raydream.report.figures.reach import si
from raydream.report.setting import said_of
from raydream.report.tuning.tried import Tried
from raydream.storage.fields import Fields
from raydream.storage.record import ProblemRecord, TopologyRecord
from raydream.studies.kept import written
from raydream.studies.tuning.tuning import Tuning

PARALLEL = (
    "A line is a configuration with the largest budget that it was given: blue where its score is good, grey where it "
    "is not, thin and red where it ended worse than it began or without a score; the broad one won."
)
MATTERED = (
    "The share of the variance of the trials' ranks that a parameter explains by itself, less what as many values "
    "would by chance: 1 if it alone decides the order, 0 if it says nothing. Up to the red tick chance may have done "
    "it (95 %, for all parameters together, by the test of Kruskal and Wallis). What parameters do together is not "
    "counted, so that shares need not add up; and it holds for the values that were tried, with this budget."
)
SPENT = "By all trials of a method together; where there are several rungs, the first is the darkest."
FEW = 20  # trials, below which little can be told


def title_of(tuning: Tuning) -> str:
    """The methods and the problem."""
    names = list(tuning.about["methods"])
    subject = ", ".join(names) if len(names) <= 3 else f"{len(names)} methods"
    return f"Tuning: {subject}" + (f"; {tuning.on}" if setting_of(tuning) else "")


def setting_of(tuning: Tuning) -> tuple[ProblemRecord, TopologyRecord] | None:
    """Problem and network, where they are known and make sense."""
    kept = tuning.about.get("setting")
    if kept is None and tuning.setting is not None:
        kept = written(tuning.setting)
    try:
        fields = Fields("the setting", kept)
        return ProblemRecord.from_json(fields.inner("problem")), TopologyRecord.from_json(fields.inner("topology"))
    except RecordError:
        return None


def lead(tuning: Tuning) -> str:
    """On what it was tuned, with what budget, judged by what, and how it searched."""
    setting, about = setting_of(tuning), tuning.about
    seeds = ", ".join(map(str, about["seeds"]))
    over = f"seeds {seeds}, over which a configuration is judged by its median"
    judged = over if len(about["seeds"]) > 1 else f"seed {seeds}"
    if under_way(tuning):
        return f"Under way: on what, with which budget in the end and how it searches is known when it ends; {judged}."
    said = list(said_of(*setting)) if setting else ["what it was tuned on is not recorded"]
    if setting:
        said.append("from a start of one's own" if _own_start(tuning) else "from the problem's own start")
    budget = f"{si(tuning.budget)} {column(tuning.axis).short}"
    closing = about.get("closing")  # which older tunings do not have
    metric = column(tuning.metric).label
    judging = f"the mean {metric} over the last {closing:.0%} of it" if closing else f"{metric} then"
    said.append(f"a trial may spend {budget}, its start included, and is judged by {judging}")
    said.append(judged)
    said.append(f"{about['search']} search in the space {about['space']!r}, drawn with seed {about['seed']}")
    return "; ".join(said) + "."


def under_way(tuning: Tuning) -> bool:
    """Whether these are the trials of a tuning that has not ended, of which nobody knows how it searches."""
    return not tuning.about["search"]


def tiles(tuning: Tuning) -> dict[str, str]:
    """Facts at a glance."""
    outcomes = Counter(str(record["outcome"]) for record in tuning.records)
    shown = {
        "largest budget so far" if under_way(tuning) else "budget of a trial":
            f"{si(tuning.budget)} {column(tuning.axis).short}",
        "judged by": column(tuning.metric).label,
        "search": str(tuning.about["search"]),
        "space": str(tuning.about.get("space", "")),
        "seeds": str(len(tuning.about["seeds"])),
        "methods": str(len(tuning.about["methods"])),
        "trials": f"{len(tuning.records):,}",
        "diverged": f"{outcomes['diverged']:,}" if outcomes["diverged"] else "",
        "failed": f"{outcomes['failed']:,}" if outcomes["failed"] else "",
        "spent": spent_in_words(tuning, tuning.records),
    }  # fmt: skip
    return {name: value for name, value in shown.items() if value}


def hint(tuning: Tuning) -> tuple[str, str]:
    """How to compare the winners: a sentence, and what to type."""
    if under_way(tuning):
        return "The winners can be compared when the tuning has ended.", ""
    if not tuning.winners:
        return "No method has a winner, so that there is nothing to compare.", ""
    sentence = (
        "These scores are of the seeds on which the winners were chosen, and flatter them. A comparison judges them on "
        "others, on the same problem, network and budget, with intervals:"
    )
    if tuning.directory is None:
        return sentence, "comparison = rd.compare(best=tuning)"
    setting = setting_of(tuning)
    spec = None if setting is None else setting[0].spec
    if spec is None:
        where = "problem, topology, " if setting is None else "problem, "
        return sentence, f"comparison = rd.compare({where}best={str(tuning.directory)!r})"
    code = ["--problem", spec.name] if ":" in spec.name else []
    return sentence, shlex.join(["raydream", "compare", "--best", str(tuning.directory), *code])


def about_method(one: Tried) -> str:
    """What does not vary, and how much of the rest is drawn."""
    said = [f"{len({mark.number for mark in one.marks}):,} configurations"]
    said += [f"fixed: {words(one.fixed)}"] if one.fixed else []
    said += [f"{len(one.drawn):,} of {len(one.marks):,} marks are drawn"] if len(one.drawn) < len(one.marks) else []
    return "; ".join(said) + "."


def about_mattered(one: Tried) -> str:
    """From how many trials it is told."""
    _, count = one.mattered()
    rung = ", with the budget of the first rung" if one.rungs > 1 else ""
    few = " So few trials tell little." if count < FEW else ""
    return f"From {count:,} configurations{rung}.{few} {MATTERED}"


def costs_of(tuning: Tuning) -> tuple[str, ...]:
    """The costs whose bills are shown; rounds never without the bytes that they carried."""
    return ("rounds", "bytes") if tuning.axis == "rounds" else (tuning.axis,)


def spent_in_words(tuning: Tuning, records: list[dict[str, Any]]) -> str:
    """What trials have spent; rounds never without the bytes that they carried."""
    costs = costs_of(tuning)
    bills = {cost: sum(float(record.get(cost) or 0.0) for record in records) for cost in costs}
    return ", ".join(f"{si(bill)} {column(cost).short}" for cost, bill in bills.items())


def _own_start(tuning: Tuning) -> bool:
    if tuning.setting is not None:
        return tuning.setting.start is not None
    if "own_start" in tuning.about:  # whoever read the files has seen it
        return bool(tuning.about["own_start"])
    return tuning.directory is not None and (tuning.directory / "start.npz").is_file()
