"""Hosts on one machine: namespaces with a network, a disk and processes of their own, on a switch between them.

All of it lives in the namespaces of one process, the rack, and ends with it, whatever happens; the machine's own
network is not touched. `switch.down(host)` cuts a host off, `host.blind(other)` and the reverse part a pair,
`host.kill()` ends all its processes; `up` and `sees` mend.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from waiting import PATIENCE, wait_until

NETWORK = "10.77.0"
NOBODY = "02:00:00:00:00:01"  # a hardware address that no host has: frames to it are lost without a word

# The first process of a namespace: it mounts what the host has of its own, says so, buries orphans, and ends, with all
# others, when its input does: when the tests are done with it, or are no more.
INIT = """
import os, select, subprocess, sys
for place in sys.argv[1:]:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
print("ready", flush=True)
while not select.select([0], [], [], 0.2)[0]:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
"""
APART = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def why_not():
    """Why there can be no hosts here; nothing where there can."""
    if missing := [tool for tool in ("unshare", "nsenter", "ip", "mount") if shutil.which(tool) is None]:
        return f"no {', '.join(missing)} on this machine"
    trial = (
        "ip link add name b type bridge && ip link add name c type veth peer name d && mount -t tmpfs tmpfs /dev/shm"
    )
    if os.geteuid():
        return "hosts need root, as their networks do"
    done = subprocess.run([*APART, "sh", "-c", trial], capture_output=True, text=True, timeout=PATIENCE)
    return "" if done.returncode == 0 else f"no namespaces are permitted ({done.stderr.strip()})"


def ip(namespace, *words):
    """`ip ...` in the network of this process."""
    inside = ["nsenter", "--net", "--target", str(namespace)]
    subprocess.run([*inside, "ip", *words], check=True, timeout=PATIENCE)


class Host:
    """A host: its first process, its number and its address."""

    def __init__(self, pid, number, disk):
        self.pid, self.number, self.disk, self.address = pid, number, disk, f"{NETWORK}.{number}"

    def words(self, words, directory=None):
        """The command by which these words are run on this host."""
        return ["nsenter", "--all", f"--wdns={directory or self.disk}", "--target", str(self.pid), *words]

    def run(self, words, directory=None, **settings):
        """A program to its end."""
        settings = {"capture_output": True, "text": True, "timeout": 2 * PATIENCE, **settings}
        return subprocess.run(self.words(words, directory), **settings)

    def write(self, name, text):
        """A file on this host's own disk."""
        self.run(["tee", name], input=text, check=True)

    def kill(self):
        """All its processes at once."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{self.pid}/exe").exists(), "the host's end")

    def blind(self, other):
        """What it sends to the other is lost."""
        ip(self.pid, "neigh", "replace", other.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def sees(self, other):
        """What it sends to the other arrives again."""
        ip(self.pid, "neigh", "del", other.address, "dev", "eth0")


class Switch:
    """What the hosts are plugged into."""

    def __init__(self, rack):
        self._rack = rack
        ip(rack, "link", "add", "name", "switch", "type", "bridge")
        ip(rack, "link", "set", "switch", "up")

    def plug(self, host):
        """A cable to this host, which gets its address."""
        cable = f"host{host.number}"
        ip(self._rack, "link", "add", "name", cable, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        ip(self._rack, "link", "set", cable, "master", "switch")
        ip(host.pid, "address", "add", f"{host.address}/24", "dev", "eth0")
        ip(host.pid, "link", "set", "eth0", "up")
        ip(host.pid, "route", "add", "default", "via", f"{NETWORK}.254")  # nobody; it tells programs their own address
        self.up(host)

    def down(self, host):
        """Its cable is pulled."""
        ip(self._rack, "link", "set", f"host{host.number}", "down")

    def up(self, host):
        """Its cable is back."""
        ip(self._rack, "link", "set", f"host{host.number}", "up")


@contextlib.contextmanager
def racked(count):
    """A switch and this many hosts, each with a disk at the same path, while this lasts."""
    disk = Path(f"/tmp/rd-{os.getpid()}-hosts")
    disk.mkdir()
    with contextlib.ExitStack() as stack:
        stack.callback(disk.rmdir)
        rack = first_process(stack, APART)
        switch, hosts = Switch(rack), []
        for number in range(1, count + 1):
            inside = ["nsenter", "--all", "--target", str(rack), *APART]
            hosts.append(Host(first_process(stack, inside, str(disk), "/dev/shm"), number, disk))
            switch.plug(hosts[-1])
        yield switch, hosts


def first_process(stack, apart, *mounts):
    """The number, on this machine, of the first process of new namespaces."""
    process = subprocess.Popen(
        [*apart, sys.executable, "-ISc", INIT, *mounts], text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stack.callback(process.wait, PATIENCE)
    stack.callback(process.stdout.close)
    stack.callback(process.stdin.close)
    assert process.stdout.readline() == "ready\n"
    number = process.pid
    while children := Path(f"/proc/{number}/task/{number}/children").read_text().split():
        number = int(children[0])
    return number
