"""Processes that end with the bench, whatever becomes of it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path


class Ended(Exception):
    """A process ended, or did not get ready, with the end of its log."""


def free_ports(count):
    """So many ports that nobody listens on. All are held until the last is found, so that they differ."""
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


class Process:
    """A child. It ends when `stop` is called, and also when this process is killed."""

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.log = Path(log)
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with self.log.open("wb") as output:
            self.child = subprocess.Popen(
                [*guard, *map(str, command)], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
            )

    @property
    def pid(self):
        """Its id."""
        return self.child.pid

    def await_ready(self, ready, within=180):
        """Waits until `ready()` is true."""
        deadline = time.monotonic() + within
        while not ready():
            if self.child.poll() is not None:
                raise Ended(f"{self.name} ended:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise Ended(f"{self.name} was not ready within {within} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines=30):
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self):
        """Asks it to end, insists after ten seconds, and ends what it has started and left behind."""
        if self.child.poll() is None:
            offspring = children_of(self.pid)
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
            for pid in offspring:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def memory_mib(self):
        """Resident memory, with that of its children."""
        return sum(resident_kib(pid) for pid in [self.pid, *children_of(self.pid)]) / 1024


def children_of(pid):
    """The ids of a process's children and theirs (Linux)."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found += [int(child), *children_of(int(child))]
    return found


def resident_kib(pid):
    """Resident memory of one process (Linux); 0 where it can't be told."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def clean_environment():
    """The environment without what would lead a program to somebody's AWS account or cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "KUBE", "JOURNEYMAN_"))}
