"""Code that writes where it should not, answers otherwise when asked again, or does not survive a journey."""

import threading

import numpy as np
import pytest
from faulty import Bare, Own, Shard, failing, spoilt

import raydream as rd


def writing(deed):
    """A shard whose gradient does something first."""

    def gradient(s, x, y, batch=None):
        answer = Shard.gradient(s, x, y, batch)
        deed(s, x, y, batch)
        return answer

    return spoilt(gradient=gradient)


def halve(array):
    array /= 2


def move(array):
    array += 1e-3


WRITES = {
    "x": lambda s, x, y, batch: halve(x) if s.agent == 1 else None,
    "y": lambda s, x, y, batch: move(y) if s.agent == 1 else None,
    "batch": lambda s, x, y, batch: None if batch is None or s.agent != 1 else batch.sort(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_gradient_that_writes_into_its_arguments_is_found(name):
    """The iterates of a run would change under its hands."""
    found = failing(rd.check(Own(writing(WRITES[name])), seed=3))["arguments"]
    assert (found.agent, found.part) == (1, name) and f"writes into its `{name}`" in found.text
    assert found.measured != found.expected


def test_a_value_that_writes_is_found():
    """It too."""

    def value(s, x, y):
        x -= 1.0
        return Shard.value(s, x + 1.0, y)

    assert "`value` writes into its `x`" in failing(rd.check(Own(spoilt(value=value))))["arguments"].text


def test_a_gradient_that_writes_into_its_data_is_found():
    """By name: in this process it is another problem after every call, and on an actor it raises."""

    def gradient(s, x, y, batch=None):
        s.a *= 1 + 1e-9
        return Shard.gradient(s, x, y, batch)

    found = failing(rd.check(Own(spoilt(gradient=gradient))))
    assert ".a`" in found["data"].text
    assert "read-only" in found["pickling"].text and "same answer twice" in found


def test_a_scratch_array_is_found_before_an_actor_finds_it():
    """What an actor receives is read-only."""

    def gradient(s, x, y, batch=None):
        s.scratch = getattr(s, "scratch", np.zeros(3))
        s.scratch[:] = Shard.gradient(s, x, y, batch)[0]
        return s.scratch.copy(), Shard.gradient(s, x, y, batch)[1]

    found = failing(rd.check(Own(spoilt(gradient=gradient))))
    assert found.keys() == {"data", "pickling"} and "`local(0).scratch`" in found["data"].text


def test_what_is_remembered_in_new_arrays_is_fine():
    """A cache that is replaced, and never written into."""

    def gradient(s, x, y, batch=None):
        s.last = Shard.gradient(s, x, y, batch)
        return tuple(part.copy() for part in s.last)

    assert rd.check(Own(spoilt(gradient=gradient))).ok


def test_an_answer_that_a_later_call_overwrites_is_found():
    """The same array every time."""
    buffers = {}

    def gradient(s, x, y, batch=None):
        gx, gy = Shard.gradient(s, x, y, batch)
        buffer = buffers.setdefault(s.agent, np.zeros(gy.size))
        buffer[:] = gy
        return gx, buffer

    found = failing(rd.check(Own(spoilt(gradient=gradient))))
    assert found.keys() == {"earlier answers"}
    assert found["earlier answers"].part == "y" and "changes at the next call" in found["earlier answers"].text


def test_answers_that_differ_when_asked_again_are_found():
    """Of a gradient, and of a value."""
    stream = np.random.default_rng(0)
    noisy = spoilt(gradient=lambda s, x, y, b=None: (Shard.gradient(s, x, y, b)[0] * (1 + 1e-15 * stream.integers(9)),
                                                     Shard.gradient(s, x, y, b)[1]))  # fmt: skip
    found = failing(rd.check(Own(noisy)))["same answer twice"]
    assert found.part == "x" and found.measured != found.expected
    noisy = spoilt(value=lambda s, x, y: Shard.value(s, x, y) * (1 + 1e-15 * stream.integers(9)))
    assert "`value` is" in failing(rd.check(Own(noisy)))["same answer twice"].text


def test_a_stale_memory_is_found():
    """What was computed elsewhere is returned here."""

    def gradient(s, x, y, batch=None):
        if batch is not None:
            return Shard.gradient(s, x, y, batch)
        s.calls = getattr(s, "calls", 0) + 1
        if s.calls % 3 or not hasattr(s, "last"):
            s.last = Shard.gradient(s, x, y)
        return tuple(part.copy() for part in s.last)

    assert not rd.check(Own(spoilt(gradient=gradient))).ok


def test_what_cannot_be_sent_is_found_by_name():
    """A lock in a shard; a class inside a function is no obstacle."""

    class Locked(Shard):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.lock = threading.Lock() if self.agent == 2 else None

    found = failing(rd.check(Own(Locked)))
    assert found.keys() == {"pickling"} and found["pickling"].agent == 2
    assert "`local(2).lock` cannot be sent to an actor" in found["pickling"].text


def test_other_bits_after_pickling_are_found():
    """State that does not travel."""

    class Forgetful(Shard):
        scale = 1.0

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.scale = 1.0 + 1e-12

        def __getstate__(self):
            return {name: part for name, part in vars(self).items() if name != "scale"}

        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x, y, batch)
            return self.scale * gx, gy

    found = failing(rd.check(Own(Forgetful)))
    assert found.keys() == {"same bits elsewhere"}
    assert found["same bits elsewhere"].measured == pytest.approx(found["same bits elsewhere"].expected)
    assert found["same bits elsewhere"].measured != found["same bits elsewhere"].expected


def test_arrays_that_are_not_contiguous_have_other_bits_elsewhere():
    """They become contiguous on the way, and sums over them are taken in another order."""

    class Strided(Shard):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.w = np.random.default_rng(self.agent).normal(size=(801, 50))[::2].T

        def value(self, x, y):
            return super().value(x, y) + float(self.w.sum() * x.sum())

        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x, y, batch)
            return gx + self.w.sum(), gy

    class Contiguous(Strided):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.w = np.ascontiguousarray(self.w)

    found = failing(rd.check(Bare(Strided)))
    assert found.keys() == {"same bits elsewhere"} and "np.ascontiguousarray" in found["same bits elsewhere"].text
    assert rd.check(Bare(Contiguous)).ok


def test_a_shard_that_is_another_when_asked_for_again_is_found():
    """Data drawn without a seed."""

    class Fresh(Shard):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            if self.agent == 1:
                self.t = np.random.default_rng().normal(size=self.t.size)

    problem = Own(Fresh)
    found = failing(rd.check(problem))
    assert found["local(i) again"].agent == 1 and found["local(i) again"].part == "x"
