"""A run directory's record, read from the disk."""

from dataclasses import replace
from pathlib import Path

from raydream.errors import RecordError
from raydream.storage.files import read_json
from raydream.storage.record import RunRecord

MOST_BYTES = 20_000_000  # of a run.json


def read_record(folder: Path) -> RunRecord:
    """The run.json of a run directory, or one sentence."""
    path = folder / "run.json"
    try:
        found = read_json(path, MOST_BYTES)
        record = RunRecord.from_json(found)
    except FileNotFoundError:
        raise FileNotFoundError(f"`directory` must be a run directory; {str(folder)!r} has no run.json.") from None
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        raise RecordError(f"`directory` holds no readable run: {str(path)!r} is damaged ({why}).") from None
    if "own_start" not in found and (folder / "start.npz").exists():  # records did not always say it
        return replace(record, own_start=True)
    return record
