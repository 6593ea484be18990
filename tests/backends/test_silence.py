"""What does not answer: actors that are stopped, hosts without a network between them, frames that Ray loses."""

import gc
import os
import socket

import pytest
import ray
from conftest import leftovers
from linked import RUN, SECRET

from raydream.backends.ray.cluster import beats
from raydream.backends.ray.cluster.beats import LONGER, MUTE_SECONDS, Beats
from raydream.backends.ray.cluster.needs import Needs
from raydream.backends.ray.links import Terms
from raydream.backends.ray.links.ray_calls import RayLinks
from raydream.backends.ray.links.tcp import TcpLinks
from raydream.backends.ray.runtime import STARTS, OwnRay
from raydream.errors import LinkCut, LinkLost, RayLost


class Actor:
    """A handle whose calls are answered or not."""

    def __init__(self):
        self.answers, self.asked = True, 0

    def __getattr__(self, name):
        return self

    def options(self, **_):
        return self

    def remote(self, *_):
        self.asked += 1
        return self, self.asked


@pytest.fixture
def wait(monkeypatch):
    """Beats of two actors; a function that lets seconds pass and says who is mute then."""
    now, handles, heart = [0.0], {0: Actor(), 1: Actor()}, None
    monkeypatch.setattr(beats.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        beats.ray, "wait", lambda those, num_returns, timeout: ([one for one in those if one[0].answers], [])
    )
    heart = Beats(patience=300.0)

    def passing(seconds, step=0.25):
        found = set()
        while seconds > 0 and not found:
            seconds, now[0] = seconds - step, now[0] + step
            found = heart.mute(handles, {0, 1})
        return found

    passing.handles, passing.heart = handles, heart
    return passing


def test_actors_that_answer_are_waited_for_however_long_they_take(wait):
    """They are asked now and then, and not all the time."""
    assert wait(3600.0) == set()
    assert all(100 < actor.asked < 3600 for actor in wait.handles.values())


def test_an_actor_that_does_not_answer_is_mute_after_a_while(wait):
    """Not before, and it alone; the next time it is given longer, since it may only be busy."""
    wait.handles[1].answers = False
    assert wait(MUTE_SECONDS - 1.0) == set()
    assert wait(MUTE_SECONDS) == {1}
    wait.heart.begin()
    assert wait(LONGER * MUTE_SECONDS - 1.0) == set()
    assert wait(10.0) == {1}


def test_the_time_for_which_the_driver_itself_was_stopped_does_not_count(wait):
    """A lid that was closed for an hour: nobody is mute when it opens."""
    wait.handles[1].answers = False
    assert wait(4.0) == set()
    assert wait(3600.0, step=3600.0) == set()
    assert wait(3.0) == set()


def test_a_neighbour_that_cannot_be_reached_is_named_with_both_addresses(monkeypatch):
    """Nobody answers a call: not an error of the neighbour's, but a network that is not there."""

    def lost(address, timeout):
        assert timeout <= 5.0
        raise TimeoutError("timed out")

    links = TcpLinks(1, Terms(RUN, SECRET, 300.0))
    port = links.listen("127.0.0.1", 1)[1]
    monkeypatch.setattr(socket, "create_connection", lost)
    try:
        with pytest.raises(LinkCut) as cut:
            links.connect({0: ("10.9.8.7", 66)})
    finally:
        links.close()
    said = f"actor 1 at 127.0.0.1:{port} and actor 0 at 10.9.8.7:66 are cut off from each other (timed out)."
    assert str(cut.value) == said and cut.value.pair == (1, 0)


def test_a_frame_that_ray_could_not_deliver_is_noticed_by_its_sender(monkeypatch):
    """Ray says so only to whoever asks; the receiver would wait until its patience ends."""
    links, peer = RayLinks(0, Terms(RUN, SECRET, 300.0)), Actor()
    links.listen("", 1)
    links.connect({1: peer})

    def lost(reference, timeout):
        raise ray.exceptions.ActorUnavailableError("the connection broke", None)

    monkeypatch.setattr(ray, "wait", lambda those, num_returns, timeout: (those, []))
    monkeypatch.setattr(ray, "get", lost)
    with pytest.raises(LinkLost, match="actor 0: a frame did not reach actor 1"):
        links.exchange({1: [memoryview(b"12345678")]}, {1: [memoryview(bytearray(8))]})


def test_a_node_that_is_avoided_is_asked_for_by_no_actor():
    """In Ray's words, beside the labels that were asked for."""
    needs = Needs(labels={"zone": "a"}).avoiding("12ab").avoiding("34cd")
    assert needs.selector == {"zone": "a", "ray.io/node-id": "!in(12ab, 34cd)"}
    assert Needs().selector == {}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray forgets what it had begun when its start fails
@pytest.mark.parametrize("deaths", [1, STARTS])
def test_a_ray_whose_raylet_dies_while_it_starts_is_started_again(monkeypatch, deaths):
    """Not waited for, as Ray itself does for ten minutes; after three times a sentence, and nothing is left."""
    if ray.is_initialized():
        pytest.skip("a Ray is running in this process already")
    began, start = [], ray._private.services.start_raylet

    def start_raylet(*words, **more):
        process = start(*words, **more)
        began.append(process.process.pid)
        if len(began) <= deaths:
            process.process.kill()
        return process

    monkeypatch.setattr(ray._private.services, "start_raylet", start_raylet)
    own = OwnRay(1, {})
    if deaths < STARTS:
        own.start()
        assert own.lost == "" and len(began) == deaths + 1
        own.end()
    else:
        with pytest.raises(RayLost, match="the raylet died while Ray started"):
            own.start()
    gc.collect()
    assert not ray.is_initialized() and not leftovers(os.getpid())
