"""Files and frames of any bytes: read, or refused in one sentence; nothing else, and at no great cost."""

import contextlib
import io
import json
import socket
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydream as rd
from raydream.backends.plan import Plan
from raydream.backends.ray.links.frames import HEADER, Connection
from raydream.backends.ray.links.greeting import HELLO, Greeting, _greet
from raydream.dashboard.new.forms import new_run
from raydream.data.libsvm import careful, parse, quick
from raydream.errors import CheckpointError, LinkError, RecordError
from raydream.storage.arrays import arrays_in
from raydream.storage.checkpoint import Checkpoint
from raydream.storage.record import RunRecord

FUZZ = settings(derandomize=True, deadline=None, database=None, max_examples=60)
RUN, SECRET = b"r" * 16, b"s" * 32


def flipped(content, changes):
    """The same bytes but for some."""
    found = bytearray(content)
    for place, value in changes:
        found[place % len(found)] = value
    return bytes(found)


changes = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A finished run with a checkpoint, and its plan."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    game = rd.problems.QuadraticGame.random(agents=3, samples=4, dim_x=2, dim_y=2)
    parts = game, rd.topology.ring(3), rd.DREAM(eta=0.05, gamma=0.3, b=2)
    rd.run(*parts, iterations=4, checkpoint_every=2, backend="local", directory=folder, progress=False)
    return folder, Plan.build(*parts)


def paths(value, before=()):
    """Every place in plain data."""
    yield before
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(inner, (*before, key))


def put(value, path, what):
    """The same data with something else in a place."""
    if not path:
        return what
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], what)
    return copy


@given(st.data())
@settings(FUZZ, max_examples=200)
def test_run_json(saved, data):
    """With anything in any place."""
    folder, _ = saved
    record = json.loads((folder / "run.json").read_text())
    place = data.draw(st.sampled_from(sorted(paths(record), key=str)))
    changed = put(record, place, data.draw(values))
    try:
        found = RunRecord.from_json(changed)
        assert RunRecord.from_json(json.loads(json.dumps(found.to_json()))).to_json().keys() == found.to_json().keys()
    except RecordError as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@given(st.data())
@FUZZ
def test_a_manifest(saved, data):
    """With anything in any place."""
    folder, plan = saved
    manifest = json.loads((folder / "checkpoint/manifest.json").read_text())
    place = data.draw(st.sampled_from(sorted(paths(manifest), key=str)))
    with edited(folder / "checkpoint/manifest.json", json.dumps(put(manifest, place, data.draw(values))).encode()):
        try:
            Checkpoint.load(folder / "checkpoint", plan)
        except CheckpointError as error:
            assert str(error).endswith(".")


@contextlib.contextmanager
def edited(path, content):
    """A file with another content for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


@given(changes)
@settings(FUZZ, max_examples=150)
def test_arrays(saved, changes):
    """A .npz of which some bytes are others."""
    content = (saved[0] / "arrays.npz").read_bytes()
    with contextlib.suppress(ValueError):
        arrays_in(io.BytesIO(flipped(content, changes)))


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x93NUMPY\x01\x00v\x00"]))
@settings(FUZZ, max_examples=100)
def test_an_array_of_any_bytes(content, beginning):
    """Within a whole archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", beginning + content)
    with contextlib.suppress(ValueError):
        arrays_in(file)


@given(changes)
@FUZZ
def test_a_history(saved, changes):
    """A history.csv of which some bytes are others."""
    path = saved[0] / "history.csv"
    with edited(path, flipped(path.read_bytes(), changes)):
        try:
            rd.load(saved[0])
        except RecordError as error:
            assert "holds no readable run" in str(error)


words = st.text("0123456789:.-+eE #\t\nnaif\x00", max_size=40).map(str.encode) | st.binary(max_size=30)


@given(words, st.none() | st.integers(1, 20))
@settings(FUZZ, max_examples=200)
def test_libsvm(text, features):
    """Both ways of reading agree, and a fault is told with its line."""
    try:
        matrix, labels = parse(text, "file", features)
    except ValueError as error:
        assert str(error).startswith("`file`") and str(error).endswith(".")
        return
    assert matrix.shape[0] == len(labels) and np.isfinite(matrix.data).all()
    assert quick(text, features) is None or len(careful(text, "file", features).labels) == len(labels)


FORM = {"problem": "quadratic", "topology": "ring", "method": "dream", "agents": "4"}
fields = st.sampled_from(
    [*FORM, "iterations", "record_every", "seed", "checkpoint_every", "max_sfo", "max_seconds", "target_primal", "name",
     "backend", "links", "agents_per_actor", "data", "method.eta", "method.p", "method.b_large", "topology.self_weight",
     "problem.samples", "condition.latency", "condition.drop", "diagnostics"]
)  # fmt: skip
odd = st.sampled_from(["1e400", "-0", "auto", "none", "nan", "1,2", "--help", "$(id)", "9" * 60])
filled = st.text(max_size=12) | odd | values


@given(st.dictionaries(fields, filled, min_size=1, max_size=4))
@settings(FUZZ, max_examples=300)
def test_forms(form):
    """The arguments of a command, all of them words without surprises; or one sentence."""
    try:
        wanted = new_run({**FORM, **form})
    except (ValueError, TypeError) as error:
        assert str(error).rstrip().endswith((".", "?")), repr(error)
        return
    assert all(word.isascii() and not {*word} & {*" \n$;`|&<>\\"} for word in wanted.arguments)


def ends():
    """Two ends of a connection over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        return one, listener.accept()[0]


hello = HELLO.pack(RUN, 1, 1, 0, b"n" * 32, b"p" * 32)


@given(st.binary(max_size=2 * HELLO.size) | changes.map(lambda some: flipped(hello, some)))
@settings(FUZZ, max_examples=40)
def test_a_greeting(content):
    """Nobody gets in without the secret, whatever he says."""
    greeting, callers = Greeting(0, RUN, 1, SECRET, lambda events, deadline: []), {}
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as caller,
    ):
        caller.sendall(content)
        caller.shutdown(socket.SHUT_WR)
        _greet(listener, callers)
        (one,) = callers.values()
        with one.socket:
            one.socket.setblocking(True)
            while not one.ready():
                pass
            assert greeting._admit(one, {1}) is None


frame = HEADER.pack(RUN, 1, 1, 1, 8, 0)


@given(st.binary(max_size=HEADER.size + 16) | changes.map(lambda some: flipped(frame, some) + bytes(8)))
@FUZZ
def test_a_frame(content):
    """A header that is not the expected one is refused before a byte of what follows is taken for a number."""
    mine, theirs = ends()
    link = Connection(mine, 0, 1)
    heard = np.full(1, np.pi)
    link.begin(RUN, 1, 1, [], [memoryview(heard).cast("B")])
    theirs.sendall(content)
    theirs.close()
    try:
        link.socket.setblocking(True)
        with contextlib.suppress(LinkError, ConnectionError):
            link.pull()
            assert content[: HEADER.size] == frame
        assert heard[0] == np.pi or content[: HEADER.size] == frame
    finally:
        link.close()
