"""Nobody waits without a word: phases are told when they begin, on a terminal and off."""

import io
import sys

import pytest
from typer.testing import CliRunner
from waiting import wait_until

import raydream as rd
from raydream import feedback
from raydream.cli.app import app
from raydream.feedback import Screen, shown, tell, telling
from raydream.running.progress import LINE_SECONDS, Iterations


class Elsewhere(io.StringIO):
    """Standard error that is no terminal."""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told_in_turn(*phases):
    """Each is told when the one before is seen."""
    with telling(Screen(after=0.0)):
        for phase in phases:
            tell(phase)
            wait_until(lambda phase=phase: phase in sys.stderr.getvalue(), lambda phase=phase: phase)


def test_without_an_ear_nothing_is_said(capsys):
    tell("reading")
    with shown(None), shown(False):
        tell("reading")
    assert capsys.readouterr().err == ""


def test_lines_elsewhere_one_line_on_a_terminal(monkeypatch, capsys):
    """Which is gone at the end."""
    monkeypatch.setattr(sys, "stderr", Elsewhere())
    told_in_turn("reading a9a", "starting Ray")
    assert sys.stderr.getvalue() == "raydream: reading a9a\nraydream: starting Ray\n"
    monkeypatch.setattr(sys, "stderr", Terminal())
    told_in_turn("reading a9a", "starting Ray")
    seen = sys.stderr.getvalue()
    assert "\n" not in seen and "\x1b[Kreading a9a ..." in seen and seen.endswith("\r\x1b[K")


def test_a_phase_that_is_over_at_once_is_not_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Elsewhere())
    screen = Screen(after=1000.0)
    with telling(screen):
        tell("reading a9a")
        tell("starting Ray")
    assert sys.stderr.getvalue() == "" and screen._waiting is None


def test_short_phases_in_a_row_are_no_silence(monkeypatch):
    """What is being done when the time is up is shown, however often that has changed."""
    monkeypatch.setattr(sys, "stderr", Elsewhere())
    timers = []

    class Held:
        """A timer that is up when the test says so."""

        daemon = False

        def __init__(self, seconds, function, arguments):
            self.up = lambda: function(*arguments)
            timers.append(self)

        def start(self):
            """Wait for the test."""

        cancel = start

    monkeypatch.setattr(feedback.threading, "Timer", Held)
    with telling(Screen()):
        for phase in ("loading libraries", "building", "reading a9a"):
            tell(phase)
        monkeypatch.setattr(feedback.threading, "current_thread", lambda: timers[0])
        timers[0].up()
        assert sys.stderr.getvalue() == "raydream: reading a9a\n" and len(timers) == 1
        tell("starting Ray")
        assert len(timers) == 2
    timers[1].up()
    assert sys.stderr.getvalue() == "raydream: reading a9a\n"


def test_whoever_listens_already_goes_on_to():
    """A command's ear is not replaced by that of the run it starts."""
    heard = []
    with telling(heard.append), shown(True):
        tell("one")
    assert heard == ["one", ""]
    assert feedback._EAR.get() is None


@pytest.mark.usefixtures("shared_ray")
def test_a_run_on_actors_tells_its_phases():
    heard = []
    with telling(heard.append):
        game = rd.problems.QuadraticGame.random(3, seed=1)
        rd.run(game, rd.topology.ring(3), rd.GTGDA(eta=0.1, gamma=1.0), iterations=2, progress=False)
    assert [text for text in heard if "of" not in text] == ["starting 3 actors", "linking neighbours", "", ""]


def test_a_command_says_what_it_does_before_it_does_it(monkeypatch, tmp_path):
    """The first word comes before anything is built, and before Ray."""
    order = []
    monkeypatch.setattr("raydream.specs.build_problem", lambda *_, **__: order.append("built") or 1 / 0)
    monkeypatch.setattr("raydream.cli.command.Screen", lambda: order.append)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["run", "--data", "a9a"])
    assert order[:3] == ["loading libraries", "building robust-logistic on a9a", "built"]


def test_reading_data_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("RAYDREAM_DATA", str(tmp_path))
    monkeypatch.setenv("RAYDREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("raydream.data.store._transfer", lambda *_: (_ for _ in ()).throw(OSError("no network")))
    heard = []
    with telling(heard.append), pytest.raises(ConnectionError):
        rd.data.load("a1a")
    assert heard == ["reading a1a", "downloading a1a", ""]


def test_a_run_that_is_asked_for_lines_writes_one_now_and_then(monkeypatch, capsys):
    """At most one in some seconds, with P and the time that is left; none where nobody asked."""
    clock = iter([0.0, 1.0, LINE_SECONDS + 1, LINE_SECONDS + 2, 2 * LINE_SECONDS + 4])
    monkeypatch.setattr("raydream.running.progress.time.monotonic", lambda: next(clock))
    with Iterations("DREAM", 40, True) as lines:
        lines.note("P=0.5")
        for _ in range(4):
            lines.update(5)
    written = capsys.readouterr().err.splitlines()
    assert written[0] == "DREAM 10/40: P=0.5; about 18 s left" and len(written) == 2
    monkeypatch.setattr("raydream.running.progress.time.monotonic", lambda: 1e9)
    with Iterations("DREAM", 40, None) as lines:
        lines.update(5)
    assert capsys.readouterr().err == ""
