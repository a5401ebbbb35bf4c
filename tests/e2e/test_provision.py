"""Pending pods get nodes, and nodes that nobody needs go. Nothing of ours runs in the cluster."""

import pytest

from bench import budget, condition, deployment, node_class, node_pool, until

CONDITIONS = ("Launched", "Registered", "Initialized", "Ready")
SPOT = ("karpenter.sh/capacity-type", "In", "spot")
#: Nodes go as soon as they are empty.
SWIFT = {"disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s"}}


def all_run(bench, count):
    """Whether so many pods run, and none waits."""
    return len(bench.kube.pods("Running")) == count == len(bench.kube.pods())


def claims(bench):
    """The NodeClaims there are."""
    return bench.kube.list("NodeClaim")


def alive(bench):
    """The ids of the instances that are not on their way out."""
    return {instance["id"] for instance in bench.kubelets.instances("pending", "running")}


def of_claims(bench):
    """The ids of the instances that NodeClaims name."""
    ids = [claim.get("status", {}).get("providerID") for claim in claims(bench)]
    return {provider_id.rsplit("/", 1)[1] for provider_id in ids if provider_id}


@pytest.fixture
def pools(bench):
    """A NodePool that takes anything, and its class."""
    bench.kube.apply(node_class(), node_pool(**SWIFT))


def test_two_hundred_mixed_pods_run_on_nodes_that_were_not_there(bench, journeyman, pools):
    sizes = [
        ("small", 120, "250m", "256Mi"),
        ("wide", 50, "1", "512Mi"),
        ("deep", 25, "500m", "4Gi"),
        ("big", 5, "3", "8Gi"),
    ]
    bench.kube.apply(*(deployment(name, count, cpu, memory) for name, count, cpu, memory in sizes))
    until(lambda: all_run(bench, 200), 120, explain=bench.kube.summary)
    until(lambda: all(condition(claim, "Ready") == "True" for claim in claims(bench)), 60, explain=bench.kube.summary)
    for claim in claims(bench):
        assert {condition(claim, kind) for kind in CONDITIONS} == {"True"}
        labels, node = claim["metadata"]["labels"], bench.kube.get("Node", claim["status"]["nodeName"])
        for label in ("node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"):
            assert node["metadata"]["labels"][label] == labels[label]
        assert node["metadata"]["labels"]["karpenter.sh/initialized"] == "true"
    assert alive(bench) == of_claims(bench)
    header = bench.kubectl("get", "nodeclaims").splitlines()[0].split()
    assert header == ["NAME", "TYPE", "CAPACITY", "ZONE", "NODE", "READY", "AGE"]


def test_nodes_follow_an_autoscaler_up_and_down(bench, journeyman, pools):
    bench.kube.apply(deployment("web", 0, cpu="1"))
    for replicas in (6, 14):
        bench.kube.scale("web", replicas)
        until(lambda replicas=replicas: all_run(bench, replicas), 120, explain=bench.kube.summary)
    bench.kube.scale("web", 0)
    until(
        lambda: not claims(bench) and not alive(bench) and not bench.kube.list("Node"), 150, explain=bench.kube.summary
    )


def test_workloads_are_left_to_their_controllers_and_pods_to_the_scheduler(bench, journeyman, pools):
    bench.kube.apply(deployment("web", 4))
    until(lambda: all_run(bench, 4), 120, explain=bench.kube.summary)
    made = [request for name in bench.keys for request in bench.requests_of(name)]
    changes = [r for r in made if r["verb"] in ("create", "update", "patch", "delete", "deletecollection")]
    changed = {(r["resource"], r["subresource"]) for r in changes}
    assert not changed & {("pods", "binding"), ("pods", None), ("bindings", None)}
    assert not {resource for resource, _ in changed} & {
        "deployments",
        "replicasets",
        "statefulsets",
        "daemonsets",
        "jobs",
    }


def test_a_pod_that_fits_nothing_is_told_why(bench, journeyman, pools):
    bench.kube.apply(deployment("giant", 1, cpu="4000"))

    def told():
        events = bench.kube.list("Event", "default")
        return [
            e["message"] for e in events if e["reason"] == "FailedScheduling" and e["reportingComponent"] == "karpenter"
        ]

    assert "giant" not in until(told, 90, explain=bench.kube.summary)[0]
    assert claims(bench) == []


def test_budgets_hold_when_nodes_go(bench, journeyman, pools):
    bench.kube.apply(deployment("web", 3), budget("web", minAvailable=3))
    until(lambda: all_run(bench, 3), 120, explain=bench.kube.summary)
    node = bench.kube.list("Node")[0]["metadata"]["name"]
    bench.kube.delete("Node", node)
    until(
        lambda: any(e["reason"] == "FailedDraining" for e in bench.kube.list("Event")), 60, explain=bench.kube.summary
    )
    assert len(bench.kube.pods("Running")) == 3
    bench.kube.delete("PodDisruptionBudget", "web")
    until(lambda: bench.kube.get("Node", node) is None and all_run(bench, 3), 120, explain=bench.kube.summary)
