"""How soon is there a sign of life? `raydream run` on a terminal and off, `--help`, and `import raydream`.

python experiments/benchmarks/table.py --only feedback
"""

import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from measuring import Row, in_turns

RUN = ("run", "--backend", "local", "--iterations", "2")
REPEATS = 7


def rows(quick: bool = False) -> Iterator[Row]:
    """Seconds until something is seen, or all is done."""
    variants = {
        "raydream run, first sign of life on a terminal": partial(first_word, True),
        "raydream run, first sign of life elsewhere": partial(first_word, False),
        "raydream --help": partial(whole, "-m", "raydream", "--help"),
        "import raydream": partial(whole, "-c", "import raydream"),
    }
    goals = (0.5, 0.5, 0.2, 0.2)
    found = in_turns(variants, 1 if quick else REPEATS)
    for (name, figures), goal in zip(found.items(), goals, strict=True):
        yield Row(name, figures, "s", most=goal)


def first_word(terminal: bool) -> float:
    """Seconds until `raydream run` says something to whoever waits."""
    ear, mouth = pty.openpty() if terminal else os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "raydream", *RUN],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=mouth,
        )  # fmt: skip
        os.close(mouth)
        said = os.read(ear, 1)
        took = time.perf_counter() - began
        with open(ear, "rb", buffering=0) as rest:
            _drain(rest.fileno())
        if process.wait(120) or not said:
            raise RuntimeError(f"`raydream {' '.join(RUN)}` failed, or said nothing.")
    return took


def _drain(ear: int) -> None:
    """Hear the rest, so that nobody waits for us; a terminal ends with an error."""
    try:
        while os.read(ear, 4096):
            pass
    except OSError:
        pass


def whole(*command: str) -> float:
    """Seconds that a program takes from beginning to end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True, cwd=Path(__file__).parent)
    return time.perf_counter() - began
