"""One bench for all tests; an empty cluster for each."""

import os

import pytest

from bench import Bench
from bench.functions import NAMES


@pytest.fixture(scope="session")
def running():
    """The bench, for as long as the tests run."""
    with Bench() as bench:
        yield bench
        parts = ", ".join(f"{name} {mib} MiB" for name, mib in bench.memory_mib().items())
        times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in bench.seconds.items())
        print(f"\nbench: ready after {times}; memory at the end {parts}")


@pytest.fixture
def bench(running):
    """The bench, as if nothing had happened before."""
    yield running
    running.reset()


@pytest.fixture
def journeyman(bench):
    """Journeyman at work: its functions in the emulator's Lambda, or `journeyman run` where BENCH_FUNCTIONS names none."""
    folder = os.environ.get("BENCH_FUNCTIONS")
    if not folder:
        with bench.journeyman_running() as process:
            yield process
        return
    bench.give_rights()
    began = len(bench.requests_of(*NAMES))
    bench.functions.start()
    bench.functions.invoke("catalog", {"cluster": bench.cluster})
    bench.wake()
    yield bench.functions
    refused = [request for request in bench.requests_of(*NAMES)[began:] if request["status"] == 403]
    assert not refused, "the functions ask for more than infra/kubernetes lets them"
