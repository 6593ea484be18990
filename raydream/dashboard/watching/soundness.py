"""What run.json and progress.json must look like to be shown: files may come from anywhere."""

from typing import Any


def fault_of_record(record: dict[str, Any]) -> str:
    """What is wrong with a run.json, in a few words; "" where nothing is."""
    if "damaged" in record:
        return str(record["damaged"])
    for name in ("problem", "topology", "method"):
        if not isinstance(record.get(name), dict) or not _may_be_text(record[name].get("name")):
            return f"run.json has no sound {name!r}"
    if not isinstance(record.get("outcome"), str):
        return "run.json has no outcome"
    for name in ("limits", "backend", "driver", "constants", "asked"):
        if not _may_be_dict(record.get(name)):
            return f"run.json has no sound {name!r}"
    if not _may_be_dict(record["method"].get("parameters")):
        return "run.json has no sound parameters"
    for name in ("problem", "topology"):
        spec = record[name].get("spec")
        if not _may_be_dict(spec) or not _may_be_dict((spec or {}).get("parameters")):
            return f"run.json has no sound {name!r}"
        if not _may_be_text((spec or {}).get("name")):
            return f"run.json has no sound {name!r}"
    numbers = [record.get("iterations"), record.get("record_every"), *(record.get("limits") or {}).values()]
    if not all(one is None or is_number(one) for one in numbers):
        return "run.json has a limit that is not a number"
    if not _places(record.get("places")) or not are_recoveries(record.get("recoveries")):
        return "run.json has no sound places or recoveries"
    return "" if _is_text(record) else "run.json holds text that cannot be shown"


def sound_progress(progress: dict[str, Any]) -> dict[str, Any]:
    """A progress.json, or {} where it makes no sense."""
    numbers = [progress.get("iteration", 0), progress.get("time", 0), progress.get("seconds", 0)]
    sound = all(map(is_number, numbers)) and are_recoveries(progress.get("recoveries")) and _is_text(progress)
    return progress if sound and "damaged" not in progress else {}


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def are_recoveries(value: Any) -> bool:
    """Whether this is a list of what happened to agents that were lost."""
    return value is None or (
        isinstance(value, list)
        and all(
            isinstance(one, dict)
            and is_number(one.get("iteration"))
            and is_number(one.get("rolled_back_to"))
            and _agents(one.get("agents"))
            for one in value
        )
    )


def _may_be_dict(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _may_be_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _places(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(one, dict) and _agents(one.get("agents")) for one in value)
    )


def _agents(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, int) for one in value)


def _is_text(value: Any) -> bool:
    """Whether every string in it can be written down: a lone half of a surrogate pair cannot."""
    if isinstance(value, str):
        return not any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, dict):
        return all(_is_text(one) for pair in value.items() for one in pair)
    return all(map(_is_text, value)) if isinstance(value, list) else True
