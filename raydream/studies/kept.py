"""The setting of a study, kept in its directory and made again from there."""

from pathlib import Path
from typing import Any

from raydream.conditions import Conditions
from raydream.problems.completed import complete
from raydream.running.parts import problem_again, topology_again
from raydream.storage.describe import described_problem, described_topology
from raydream.storage.fields import Fields
from raydream.storage.record import ProblemRecord, TopologyRecord
from raydream.storage.start import read_start, write_start
from raydream.studies.setting import Setting

Written = dict[str, Any]


def written(setting: Setting) -> Written:
    """A setting as plain data."""
    problem, topology = setting.specs
    return {
        "problem": described_problem(complete(setting.problem), problem).to_json(),
        "topology": described_topology(setting.topology, topology).to_json(),
        **({} if setting.conditions is None else {"conditions": setting.conditions.to_json()}),
    }


def keep_start(root: Path, setting: Setting) -> None:
    """A start of the user's own, which plain data cannot hold."""
    if setting.start is not None:
        write_start(root, setting.start)


def setting_again(root: Path, found: Written, identity: dict[str, str], problem: Any, topology: Any) -> Setting:
    """The setting that a directory describes; what is given must be what it was.

    problem   the problem itself, or its name "package.module:make" repeated: code runs only where the user names it
    """
    fields = Fields("the setting", found)
    problems = ProblemRecord.from_json(fields.inner("problem"))
    network = TopologyRecord.from_json(fields.inner("topology"))
    again = Setting.around(
        problem_again(root, problems, problem),
        topology_again(root, network) if topology is None else topology,
        (),
        read_start(root),
        conditions=Conditions.from_json(fields.values("conditions")) if fields.has("conditions") else None,
    )
    check_same(root, again, identity)
    return again


def check_same(root: Path | None, setting: Setting, identity: dict[str, str]) -> None:
    """Refuse a problem, network or start that is not the one that was tuned on."""
    now = setting.identity()
    other = [part for part in {**identity, **now} if identity.get(part) != now.get(part)]
    if other:
        where = "`best`" if root is None else f"`best` {str(root)!r}"
        raise ValueError(f"{where} was tuned on another {other[0]}; leave `{other[0]}` out to take it from there.")
