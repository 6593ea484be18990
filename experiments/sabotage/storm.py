"""A run that is struck again and again, and whether it ends with the bits of one that was never disturbed."""

import contextlib
import json
import tempfile
import time
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import raydream as rd
from raydream import specs
from raydream.backends.ray.cluster.folders import sweep
from sabotage.driven import Driven, Hung
from sabotage.faults import FAULTS, Fault, marked, small_disk
from sabotage.paced import make
from sabotage.rack import PORT, environment, faults_of, racked
from sabotage.struck import FINE, HUNG, strike

Begun = tuple[Driven, list[Fault], list[str]]  # the run, what can happen to it, and further words of its command
HOSTS = 4
RECORDS, FURTHER = 10, 30
STEPS = {"eta": 0.05, "gamma": 0.3}
GONE_SECONDS = 120.0  # that what Ray leaves of a part that was killed may take to end
UNKEPT = ["seconds", "evaluation_seconds"]  # columns that no two runs share


def words_of(job: dict[str, Any]) -> list[str]:
    """The run on the command line."""
    steps = [word for name, value in STEPS.items() for word in (f"--{name}", str(value))]
    return [
        "--agents", str(job["agents"]), "--method", job["method"], "--topology", job["topology"],
        "--links", job["links"], "--agents-per-actor", str(job["packing"]), "--seed", str(job["seed"]), *steps,
        "--iterations", "1000000", "--record-every", str(RECORDS), "--checkpoint-every", "50",
    ]  # fmt: skip


def storm(job: dict[str, Any]) -> dict[str, Any]:
    """One run with the faults of a job, one after the other: a row for each, and how it ended."""
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, contextlib.ExitStack() as stack:
        begin = on_hosts if job["place"] == "hosts" else on_this_machine
        run, faults, more = begin(Path(folder), stack)
        chosen = [fault for name in job["faults"] for fault in faults if fault.name == name]
        told = struck_by(run, [*words_of(job), *more], chosen, Random(job["seed"]))
        told |= compared(run.run, job) if told["sound"] else {"same": False}
        run.kill()
        return {**told, "left": left(run), "took": round(time.time() - began, 1)}


def on_this_machine(folder: Path, stack: contextlib.ExitStack) -> Begun:
    """A run with a Ray of its own, on a small disk where that is permitted."""
    run = Driven(folder, folder.name)
    if not stack.enter_context(small_disk(run.run)):
        run.run.rmdir()
    stack.callback(run.kill)
    return run, FAULTS, []


def on_hosts(folder: Path, stack: contextlib.ExitStack) -> Begun:
    """A run on several hosts."""
    rack = stack.enter_context(racked(HOSTS))
    run = Driven(folder, folder.name, rack.first.words, **environment(rack.first))
    stack.callback(run.kill)
    return run, faults_of(rack), ["--address", f"{rack.first.address}:{PORT}"]


def struck_by(run: Driven, words: list[str], faults: list[Fault], random: Random) -> dict[str, Any]:
    """{rows, sound: whether the run could be ended in good order after all of it, words: else why not}."""
    rows: list[dict[str, Any]] = []
    try:
        run.start(words)
        for fault in faults:
            at = run.iteration
            run.until(lambda at=at: run.iteration >= at + 2 * RECORDS, "iterations before a fault")
            time.sleep(random.uniform(0.0, 0.5))
            rows.append({"fault": fault.name, **strike(run, fault, random)})
            if rows[-1]["outcome"] not in FINE:
                return {"rows": rows, "sound": False, "words": rows[-1]["words"]}
        run.stop()
    except Hung as hung:
        rows.append({"fault": "none", "outcome": HUNG, "noticed": None, "recovered": None, "words": str(hung)})
        return {"rows": rows, "sound": False, "words": str(hung)}
    time.sleep(0.5)  # its last words are on their way
    sound = "stopped after" in run.said and "Traceback" not in run.said
    return {"rows": rows, "sound": sound, "words": "" if sound else run.said[-3000:]}


def compared(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Whether the run, gone on with for a few iterations, has the bits of an undisturbed one in one process."""
    problem, done = make(job["agents"]), int(json.loads((folder / "checkpoint/manifest.json").read_text())["iteration"])
    network = json.loads((folder / "run.json").read_text())["topology"]["spec"]["parameters"]
    quiet: dict[str, Any] = dict(iterations=done + FURTHER, backend="local", check=False, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rd.resume(folder, problem=problem, **quiet)
        wanted = rd.run(
            problem, specs.build_topology(job["topology"], job["agents"], network),
            specs.build_method(job["method"], STEPS),
            seed=job["seed"], record_every=RECORDS, **quiet,
        )  # fmt: skip
    return {"same": same_bits(found, wanted), "iterations": done}


def same_bits(found: Any, wanted: Any) -> bool:
    """History but for seconds, ledger, final arrays and x_out."""
    histories = [one.history.drop(columns=UNKEPT) for one in (found, wanted)]
    return bool(
        histories[0].equals(histories[1])
        and found.ledger == wanted.ledger
        and found.arrays.keys() == wanted.arrays.keys()
        and all(np.array_equal(found.arrays[name], wanted.arrays[name]) for name in wanted.arrays)
        and np.array_equal(found.x_out, wanted.x_out)
    )


def left(run: Driven) -> list[str]:
    """Processes that outlive a run, and folders of its own Rays; those of killed drivers the next run sweeps."""
    deadline = time.monotonic() + GONE_SECONDS
    while (processes := marked(run.mark)) and time.monotonic() < deadline:
        time.sleep(0.5)
    base = Path(tempfile.gettempdir())
    sweep(base)
    folders = [folder.name for driver in run.drivers for folder in base.glob(f"rd-{driver.pid}-*")]
    return [*(f"process {pid}: {title(pid)}" for pid in processes), *folders]


def title(pid: int) -> str:
    """What a process calls itself."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:100]
    return "ended"
