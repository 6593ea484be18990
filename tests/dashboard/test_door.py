"""The dashboard's door, with real sockets: whoever says nothing keeps nobody else outside."""

import contextlib
import socket
import threading
import urllib.request

import pytest

from raydream.dashboard import door
from raydream.dashboard.door import FROM_ONE_ADDRESS, Door
from raydream.dashboard.server import _listener

WAIT = 60  # seconds, for a machine that is busy
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def greet(environ, start_response):
    """A page; /long is one that nobody takes at once."""
    body = b"hello" if environ["PATH_INFO"] == "/" else bytes(30_000_000)
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


@pytest.fixture
def port():
    """Where a server listens."""
    listener = _listener("127.0.0.1", 0)
    server = Door(greet, listener)
    going = threading.Thread(target=server.run, daemon=True)
    going.start()
    yield listener.getsockname()[1]
    server.task_dispatcher.shutdown()
    server.trigger.pull_trigger(lambda: [one.handle_close() for one in list(server._map.values())])
    going.join(WAIT)
    assert not going.is_alive()


@pytest.fixture
def visitors(port):
    """Makes so many connections that say this."""
    with contextlib.ExitStack() as stack:

        def come(count, says=b""):
            there = [stack.enter_context(socket.create_connection(("127.0.0.1", port), WAIT)) for _ in range(count)]
            for one in there:
                one.settimeout(WAIT)
                with contextlib.suppress(ConnectionError):
                    one.sendall(says)
            return there

        yield come


def served(port):
    """Whether a visitor who asks is answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=WAIT) as answer:
        return answer.read() == b"hello"


def sent_away(one):
    """Whether the server ends a connection (within a while)."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("says", [b"", b"GET / HTTP/1.1\r\nHo", b"POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n"])
def test_a_crowd_that_says_nothing_keeps_nobody_outside(port, visitors, says, monkeypatch):
    """Three hundred connections, none of which comes to the end of a request, however long they may take."""
    monkeypatch.setattr(door, "ASKING", 1e9)
    crowd = visitors(300, says)
    assert all(served(port) for _ in range(5))
    assert all(sent_away(one) for one in crowd[: 300 - FROM_ONE_ADDRESS])


def test_whoever_takes_too_long_to_ask_is_sent_away(port, visitors, monkeypatch):
    """Also where a byte comes now and then."""
    monkeypatch.setattr(door, "ASKING", 0.5)
    silent, slow = visitors(2)
    slow.settimeout(0.1)
    with contextlib.suppress(ConnectionError):
        for _ in range(10 * WAIT):
            slow.sendall(b"G")
            with contextlib.suppress(TimeoutError):
                assert slow.recv(1) == b""
                break
        else:
            pytest.fail("a request of one byte at a time was borne with")
    assert sent_away(silent)
    monkeypatch.setattr(door, "ASKING", 1e9)
    assert served(port)


def test_a_connection_is_kept_for_further_requests(port, visitors, monkeypatch):
    """Longer than a request may take to come."""
    (one,) = visitors(1)
    one.sendall(ASK)
    assert b"hello" in one.recv(1000)
    monkeypatch.setattr(door, "ASKING", -1.0)
    assert not threading.Event().wait(2.5 * door.LOOK)  # nothing comes: the server has looked
    one.sendall(ASK)
    assert b"hello" in one.recv(1000)


def test_an_answer_that_is_not_taken_frees_its_thread(port, visitors, monkeypatch):
    """More of them than there are threads, each longer than what the server keeps for later."""
    monkeypatch.setattr(door, "KEPT", 1.0)
    visitors(2 * door.THREADS, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert served(port)


def test_a_long_answer_that_is_taken_comes_whole(port, monkeypatch):
    """However long it takes in all."""
    monkeypatch.setattr(door, "KEPT", 2.0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/long", timeout=WAIT) as answer:
        assert len(answer.read()) == 30_000_000


def test_what_is_too_long_is_refused(port, visitors):
    """Neither headers nor bodies are taken in that no page would send."""
    for says in (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000, b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n"):
        (one,) = visitors(1, says)
        with contextlib.suppress(ConnectionError):
            assert one.recv(100).split()[1] in (b"413", b"431")
    assert served(port)
