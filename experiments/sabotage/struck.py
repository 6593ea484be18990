"""One fault, from the deed to the next iteration: what happens, when the run notices, and when it goes on."""

import time
from random import Random
from typing import Any

from sabotage.driven import LIMIT, TICK, Driven, Hung
from sabotage.faults import Fault

CALM = 4.0  # seconds after which a fault that nobody has noticed, while iterations go on, has passed
RECOVERED, RESUMED, PASSED, HUNG = "recovered", "resumed", "passed unnoticed", "HANG"
WORDLESS, RAW = "ENDED WITHOUT A SENTENCE", "TRACEBACK"
FINE = (RECOVERED, RESUMED, PASSED)


def strike(run: Driven, fault: Fault, random: Random) -> dict[str, Any]:
    """Do it, and watch: {outcome, noticed, recovered, words}; seconds since the deed, None where there is no such."""
    struck = Struck(run)
    mend = fault.deed(run, random)
    try:
        while True:
            if run.process.poll() is not None:
                return struck.ended(mend)
            if found := struck.recovered() or (struck.passed() if fault.passes else None):
                return found
            if time.time() - struck.began > LIMIT:
                run.until(lambda: False, "recovery", 0.0)
            time.sleep(TICK)
    except Hung as hung:
        return {"outcome": HUNG, "noticed": None, "recovered": None, "words": str(hung)}
    finally:
        if mend is not None and run.process.poll() is None:
            mend()


class Struck:
    """A run since a deed.

    known  recoveries before it
    at     the iteration of the last record before it
    """

    def __init__(self, run: Driven) -> None:
        self.run, self.known, self.at, self.began = run, len(run.recoveries), run.iteration, time.time()

    def recovered(self) -> dict[str, Any] | None:
        """The run has noted something, and gone on."""
        events = self.run.recoveries[self.known :]
        if not events or not all(event["seconds"] for event in events):
            return None
        words = "; ".join(dict.fromkeys(event["reason"] for event in events))
        first, last = events[0]["time"], events[-1]["time"] + events[-1]["seconds"]
        return self._told(RECOVERED, first - self.began, last - self.began, words)

    def passed(self) -> dict[str, Any] | None:
        """The run goes on as if nothing had been."""
        calm = time.time() - self.began > CALM and not self.run.recoveries[self.known :]
        return self._told(PASSED, None, None, "") if calm and self.run.iteration > self.at + 20 else None

    def ended(self, mend: Any) -> dict[str, Any]:
        """The driver has ended: with a sentence, or because it was killed. Resumed, the run goes on."""
        run, noticed, killed = self.run, time.time() - self.began, self.run.process.returncode < 0
        time.sleep(0.5)  # its last words are on their way
        said = run.said
        words = (said.strip().splitlines() or [""])[-1]
        if mend is not None:
            mend()
        if "Traceback" in said:
            return self._told(RAW, noticed, None, said[-3000:])
        if not killed and "go on with: raydream resume" not in words:
            return self._told(WORDLESS, noticed, None, said[-3000:])
        at = run.iteration
        run.resume()
        run.until(lambda: run.iteration > at or run.process.poll() is not None, "iterations after `raydream resume`")
        if run.process.poll() is not None:
            return self._told(WORDLESS, noticed, None, run.said[-3000:])
        return self._told(RESUMED, None if killed else noticed, time.time() - self.began, "" if killed else words)

    def _told(self, outcome: str, noticed: float | None, recovered: float | None, words: str) -> dict[str, Any]:
        return {"outcome": outcome, "noticed": noticed, "recovered": recovered, "words": words}
