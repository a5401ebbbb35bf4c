"""CreateFleet that is refused, cut short or lost: no instance twice, no pod forgotten, the reason to be read.

The emulator's stock table and faults stand for EC2 (`tests/emulators`): AWS can't be asked to run out.
"""

import pytest

from bench import deployment, node_class, node_pool, until
from test_provision import SPOT, alive, all_run, claims, of_claims

TYPES = ("node.kubernetes.io/instance-type", "In", "m5.xlarge", "c5.xlarge")


@pytest.fixture
def pools(bench, journeyman):
    """A pool of two types on Spot."""
    bench.kube.apply(node_class(), node_pool(requirements=[SPOT, TYPES]))


def settled(bench, pods):
    """Whether the pods run and each instance is named by one claim."""
    ids = alive(bench)
    named = [c.get("status", {}).get("providerID", "").rsplit("/", 1)[-1] for c in claims(bench)]
    return all_run(bench, pods) and sorted(named) == sorted(ids)


def launched(bench):
    """How many instances were ever launched."""
    return len(bench.kubelets.instances())


def test_a_pool_without_capacity_is_left_for_another(bench, pools):
    bench.sold_out({"instance_type": "c5.xlarge", "available": 0})
    bench.kube.apply(deployment("web", 3, cpu="1"))
    until(lambda: settled(bench, 3), 150, explain=bench.kube.summary)
    assert {i["instance_type"] for i in bench.kubelets.instances("running")} == {"m5.xlarge"}


def test_no_capacity_at_all_is_said_and_met_once_there_is_some(bench, pools):
    bench.sold_out({})
    bench.kube.apply(deployment("web", 1))
    until(
        lambda: any(e["reason"] == "InsufficientCapacityError" for e in bench.kube.list("Event")),
        90,
        explain=bench.kube.summary,
    )
    bench.sold_out()
    until(lambda: settled(bench, 1), 300, explain=bench.kube.summary)


def test_a_launch_that_is_only_partly_fulfilled(bench, pools):
    bench.sold_out({"instance_type": "c5.xlarge", "available": 1}, {"instance_type": "m5.xlarge", "available": 5})
    bench.kube.apply(deployment("web", 9, cpu="1"))
    until(lambda: settled(bench, 9), 240, explain=bench.kube.summary)


@pytest.mark.parametrize(
    "fault",
    [
        {"code": "RequestLimitExceeded", "status": 503, "times": 6},
        {"code": "InternalError", "status": 500, "times": 2},
        {"kind": "drop-before", "times": 2},
        {"kind": "drop-after", "times": 1},
        {"kind": "hang-after", "seconds": 20, "times": 1},
    ],
    ids=["throttled", "server-error", "lost", "answer-lost", "answer-late"],
)
def test_a_call_that_goes_wrong_launches_nothing_twice(bench, pools, fault):
    bench.fail("CreateFleet", **fault)
    bench.kube.apply(deployment("web", 6, cpu="1"))
    until(lambda: settled(bench, 6), 240, explain=bench.kube.summary)
    assert launched(bench) == len(alive(bench)) == len(of_claims(bench))
