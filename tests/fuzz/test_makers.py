"""Makers of problems and builders of networks by name: each parameter is taken, or refused in one sentence."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from test_arguments import FUZZ, NAMED, NEEDED, refused_or_taken

from raydream import specs
from raydream.parameters import parameters_of
from raydream.specs import PROBLEMS, TOPOLOGIES

SMALL = {"samples": 24, "features": 5}  # where a maker has them
ODD = st.sampled_from(sorted(NAMED)).map(NAMED.__getitem__)
PLAIN = st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.text(max_size=5)
VALUES = ODD | PLAIN | st.sampled_from(["even", "sorted", "dirichlet", "classes", "features", "sizes", "paper", "box"])


@pytest.mark.parametrize("name", PROBLEMS)
@given(st.data())
@settings(FUZZ, max_examples=30)
def test_makers_of_problems(name, data):
    """Up to three parameters at a time, and then one gradient of the first agent."""
    known = parameters_of(PROBLEMS[name])
    wrong = {one: data.draw(VALUES, one) for one in data.draw(st.sets(st.sampled_from(sorted(known)), max_size=3))}
    chosen = {one: value for one, value in SMALL.items() if one in known} | wrong

    def make(agents=3, **parameters):
        made = specs.build_problem(name, agents, parameters)
        x, y = made.start()
        assert all(np.isfinite(part).all() for part in (x, y))

    refused_or_taken(make, **chosen)


@pytest.mark.parametrize("name", TOPOLOGIES)
@given(st.data())
@settings(FUZZ, max_examples=25)
def test_builders_of_topologies_by_name(name, data):
    """As a record or a command names them, several parameters at a time."""
    known = [one for one in parameters_of(TOPOLOGIES[name]) if one != "m"]
    wrong = {one: data.draw(VALUES, one) for one in data.draw(st.sets(st.sampled_from(known or ["none"]), max_size=2))}
    agents = data.draw(st.integers(1, 9) | st.sampled_from([-1, 0, True, None, "4", 2.0]), "agents")
    refused_or_taken(lambda **given: specs.build_topology(name, agents, given), **{**NEEDED.get(name, {}), **wrong})
