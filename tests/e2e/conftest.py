"""One bench for all tests; an empty cluster for each."""

import pytest

from bench import Bench


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
