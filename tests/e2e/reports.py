"""Figures rather than verdicts: how fast pods lead to launches, what a look at a cluster at rest costs. Printed, with `-s`."""

import statistics
import time

from bench import condition, deployment, node_class, node_pool, until
from test_provision import SPOT, SWIFT, all_run, claims

ROUNDS = 12


def test_time_from_a_pending_pod_to_its_launch(bench, journeyman):
    bench.kube.apply(node_class(), node_pool(requirements=[SPOT], **SWIFT))
    seconds = []
    for number in range(ROUNDS):
        before = len(bench.calls("CreateFleet"))
        began = time.time()
        bench.kube.apply(deployment(f"web-{number}", 1, cpu="3500m"))
        until(lambda before=before: len(bench.calls("CreateFleet")) > before, 60, explain=bench.kube.summary)
        seconds.append(bench.calls("CreateFleet")[before]["time"] - began)
        until(lambda number=number: all_run(bench, number + 1), 60, explain=bench.kube.summary)
    print(f"\npod to CreateFleet: p50 {statistics.median(seconds):.2f} s, slowest of {ROUNDS} {max(seconds):.2f} s")
    print("each:", " ".join(f"{value:.2f}" for value in sorted(seconds)))


def test_cost_of_looking_at_a_cluster_at_rest(bench, journeyman):
    bench.kube.apply(node_class(), node_pool(requirements=[SPOT]), deployment("web", 4, cpu="1"))
    until(lambda: all_run(bench, 4), 120, explain=bench.kube.summary)
    minute = 60
    time.sleep(minute)
    before = {name: len(bench.requests_of(name)) for name in bench.keys}
    calls = len(bench.calls())
    time.sleep(minute)
    made = {name: bench.requests_of(name)[before[name] :] for name in bench.keys}
    for name, requests in made.items():
        kinds = sorted({f"{r['verb']} {r['resource']}" for r in requests})
        print(f"\n{name}: {len(requests)} requests of the API server in a minute: {', '.join(kinds)}")
    print(f"EC2, SSM, IAM, Pricing: {len(bench.calls()) - calls} calls in a minute")
    writes = [r for requests in made.values() for r in requests if r["verb"] not in ("get", "list", "watch")]
    assert {r["resource"] for r in writes} <= {"leases"}


NODES = 50
#: A node each for 50 pods, of which a tenth may go at once.
ROLLING = {
    "requirements": [("node.kubernetes.io/instance-type", "In", "m5.large"), ("karpenter.sh/capacity-type", "In", "on-demand")],
    "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never", "budgets": [{"nodes": "10%"}]},
}


def test_drift_of_fifty_nodes(bench, journeyman):
    roll(bench, {}, {"metadata": {"labels": {"generation": "second"}}})


def test_expiry_of_fifty_nodes(bench, journeyman):
    # Nodes of one birth: without a later age of their own they would all go half a minute after the first, budget or not.
    roll(bench, {"expireAfter": "5m"}, None, {"journeyman.dev/expire-at-latest-after": "24h"})


def roll(bench, template, change, annotations=None):
    """Replaces all nodes of a pool, for a change of its template or by their age, and counts those under way."""
    pool = node_pool(template=template, **ROLLING)
    pool["spec"]["template"]["metadata"] = {"annotations": annotations or {}}
    bench.kube.apply(node_class(), pool, deployment("web", NODES, cpu="1200m"))
    until(lambda: all_run(bench, NODES) and len(ready(bench)) == NODES, 300, explain=bench.kube.summary)
    old = {claim["metadata"]["uid"] for claim in claims(bench)}
    began = time.time()
    if change:
        bench.kube.patch("NodePool", "default", {"spec": {"template": change}})
    most, fewest = 0, NODES

    def all_replaced():
        nonlocal most, fewest
        there = claims(bench)
        doomed = {node["metadata"]["name"] for node in bench.kube.list("Node") if is_doomed(node)}
        doomed |= {claim["status"].get("nodeName") for claim in there if "deletionTimestamp" in claim["metadata"]}
        most = max(most, len(doomed))
        running = [pod for pod in bench.kube.pods("Running") if "deletionTimestamp" not in pod["metadata"]]
        fewest = min(fewest, len(running))
        return not old & {claim["metadata"]["uid"] for claim in there}

    until(all_replaced, 2400, every=1, explain=bench.kube.summary)
    took = time.time() - began
    print(f"\n{NODES} nodes replaced in {took:.0f} s; at most {most} under way at once, at least {fewest} pods ran")
    assert most <= NODES // 10


def ready(bench):
    return [claim for claim in claims(bench) if condition(claim, "Ready") == "True"]


def is_doomed(node):
    return any(taint["key"] == "karpenter.sh/disrupted" for taint in node["spec"].get("taints", []))
