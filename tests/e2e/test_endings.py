"""However a node comes to its end, nothing is left: no instance, no claim, no node, and no pod without a place."""

import pytest

from bench import condition, deployment, node_class, node_pool, until
from test_provision import alive, all_run, claims, of_claims


@pytest.fixture
def settled(bench, journeyman):
    """Six pods on nodes, all at rest."""
    bench.kube.apply(node_class(), node_pool(), deployment("web", 6, cpu="1"))
    until(lambda: all_run(bench, 6), 150, explain=bench.kube.summary)
    until(lambda: all(condition(claim, "Ready") == "True" for claim in claims(bench)), 60, explain=bench.kube.summary)
    return alive(bench)


def clean(bench, gone):
    """Whether the pods run on other instances, and no more instances are alive than claims name."""
    now = alive(bench)
    return all_run(bench, 6) and not now & gone and now == of_claims(bench)


def test_a_node_deleted_by_a_person(bench, settled):
    for node in bench.kube.list("Node"):
        bench.kube.delete("Node", node["metadata"]["name"])
    until(lambda: clean(bench, settled), 150, explain=bench.kube.summary)


def test_a_node_claim_deleted_by_a_person(bench, settled):
    bench.kube.delete_all("NodeClaim")
    until(lambda: clean(bench, settled), 150, explain=bench.kube.summary)


def test_a_node_pool_deleted_by_a_person(bench, settled):
    bench.kube.delete("NodePool", "default")
    until(lambda: not alive(bench) and not claims(bench), 150, explain=bench.kube.summary)
    assert bench.kube.get("NodePool", "default") is None


def test_an_instance_killed_behind_our_back(bench, settled):
    bench.cloud.ec2.terminate_instances(InstanceIds=list(settled))
    # Kubernetes itself takes the pods of a lost node away only after a minute.
    until(lambda: clean(bench, settled), 240, explain=bench.kube.summary)


def test_an_instance_that_no_claim_is_left_for(bench, settled):
    claim = claims(bench)[0]
    orphan = claim["status"]["providerID"].rsplit("/", 1)[1]
    name = claim["metadata"]["name"]
    bench.kube.patch("NodeClaim", name, {"metadata": {"finalizers": []}})
    bench.kube.delete("NodeClaim", name)
    until(lambda: orphan not in alive(bench), 240, explain=bench.kube.summary)
    until(lambda: clean(bench, {orphan}), 240, explain=bench.kube.summary)


def test_a_spot_instance_that_is_taken_back(bench, settled):
    number = sorted(settled)[0]
    claim = next(c for c in claims(bench) if c["status"]["providerID"].endswith(number))
    labels = claim["metadata"]["labels"]
    bench.warn_of_interruption(number, seconds=120)
    until(lambda: tainted(bench, claim), 30, explain=bench.kube.summary)
    until(lambda: number not in alive(bench) and all_run(bench, 6), 115, explain=bench.kube.summary)
    kind, zone = labels["node.kubernetes.io/instance-type"], labels["topology.kubernetes.io/zone"]
    offered = {(i["instance_type"], i["zone"]) for i in bench.kubelets.instances("running") if i["id"] not in settled}
    assert (kind, zone) not in offered


def tainted(bench, claim):
    """Whether a claim's node is being given up, or gone."""
    node = bench.kube.get("Node", claim["status"]["nodeName"])
    return node is None or any(t["key"] == "karpenter.sh/disrupted" for t in node["spec"].get("taints", []))
