"""A single replica that asks for it has a successor before it leaves, whatever its PodDisruptionBudget says."""

import pytest

from bench import budget, deployment, node_class, node_pool, until
from test_provision import alive, of_claims


def asking(name, **spec):
    """A Deployment of one pod that asks for a successor."""
    item = deployment(name, 1, cpu="1")
    item["spec"].update(spec)
    item["spec"]["template"]["metadata"]["annotations"] = {"journeyman.dev/surge": "true"}
    return item


def ready(bench):
    """The pods that are Ready and were not asked to go."""
    pods = [pod for pod in bench.kube.pods("Running") if "deletionTimestamp" not in pod["metadata"]]
    conditions = [(pod, pod["status"].get("conditions", [])) for pod in pods]
    return [pod for pod, all_ in conditions if any(c["type"] == "Ready" and c["status"] == "True" for c in all_)]


def said_of(bench, pod):
    """What was said of a pod, by reason."""
    name = pod["metadata"]["name"]
    return {e["reason"]: e["message"] for e in bench.kube.list("Event") if e["involvedObject"]["name"] == name}


@pytest.fixture
def pools(bench, journeyman):
    """A pool of any nodes; pods may ask for successors."""
    bench.give_right_to_surge()
    bench.kube.apply(node_class(), node_pool())


def runs(bench, item):
    """Applies a Deployment of one pod, and its pod once that is Ready."""
    bench.kube.apply(item)
    until(lambda: ready(bench), 150, explain=bench.kube.summary)
    return ready(bench)[0]


def test_its_successor_is_ready_before_it_leaves(bench, pools):
    pod = runs(bench, asking("web"))
    bench.kube.apply(budget("web", minAvailable=1))
    node, before = pod["spec"]["nodeName"], alive(bench)
    bench.kube.delete_all("NodeClaim")
    least = 1

    def moved():
        nonlocal least
        now = ready(bench)
        least = min(least, len(now))
        return bench.kube.get("Node", node) is None and len(now) == len(bench.kube.pods()) == 1

    until(moved, 240, explain=bench.kube.summary)
    assert least == 1, "there was a moment without a Ready pod"
    assert ready(bench)[0]["metadata"]["name"] != pod["metadata"]["name"]
    said = said_of(bench, pod)
    assert "SurgeStarted" in said and "Evicted" not in said
    # One node was made for it: not one for the pod and one for its successor.
    until(lambda: not alive(bench) & before and alive(bench) == of_claims(bench), 60, explain=bench.kube.summary)
    assert len(alive(bench)) == 1


def test_where_none_can_come_first_it_is_evicted_and_told_why(bench, pools):
    pod = runs(bench, asking("web", strategy={"type": "Recreate"}))
    bench.kube.delete_all("NodeClaim")
    other = lambda: [p for p in ready(bench) if p["metadata"]["name"] != pod["metadata"]["name"]]
    until(other, 150, explain=bench.kube.summary)
    said = said_of(bench, pod)
    assert "Recreate" in said["Evicted"] and "SurgeStarted" not in said
