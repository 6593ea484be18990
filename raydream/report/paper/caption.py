"""What a caption says of the setting: data set, network, agents, seeds, and how parameters were found."""

from raydream.report.collect import Run
from raydream.report.setting import said_of
from raydream.report.tuning.words import lead
from raydream.studies.tuning.tuning import Tuning


def caption(every: list[Run], tuned: str = "") -> list[str]:
    """The sentences about some runs."""
    records = [run.record for run in every if run.record is not None]
    record = next((one for one in records if one.problem.agents > 1), records[0] if records else None)
    seeds = sorted({run.seed for run in every if isinstance(run.seed, int)})
    said = [] if record is None else [_upper(one) for one in said_of(record.problem, record.topology)]
    if seeds:
        said.append(f"Seeds {_ranges(seeds)}" if len(seeds) > 1 else f"Seed {seeds[0]}")
    return [*said, _upper(tuned) if tuned else "Parameters were given, not tuned"]


def tuning_caption(tuning: Tuning) -> list[str]:
    """The sentences about a tuning; its scores are of the seeds that chose."""
    return [f"What won: {lead(tuning)}", "Scores are of the seeds on which winners were chosen"]


def _ranges(seeds: list[int]) -> str:
    """0 to 9, or 0, 2, 5."""
    whole = seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole and len(seeds) > 2 else ", ".join(map(str, seeds))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
