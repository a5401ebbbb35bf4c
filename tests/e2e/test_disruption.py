"""Nodes that cost more than they need to go, and no rule is broken on the way."""

import json
import subprocess

from bench import budget, deployment, node_class, node_pool, until
from test_provision import all_run, claims

#: Two vCPU a node, so that many small nodes come; half of a pool may go at once, or the test would take its hour.
POOL = {
    "requirements": [
        ("node.kubernetes.io/instance-type", "In", "m5.large"),
        ("karpenter.sh/capacity-type", "In", "on-demand"),
    ],
    "disruption": {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "0s",
        "budgets": [{"nodes": "50%"}],
    },
}
NODES = 20


def price(bench):
    """What the cluster costs an hour, as `journeyman disrupt` has it."""
    dump = bench.kubectl("get", "nodepools,ec2nodeclasses,nodeclaims,nodes,pods,pdb", "-A", "-o", "json")
    done = subprocess.run(
        [bench.journeyman, "disrupt", "--dry-run", "--output", "json", "-"],
        input=dump,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["usdPerHourBefore"]


def test_an_underused_cluster_shrinks_within_its_budgets(bench, journeyman):
    bench.kube.apply(node_class(), node_pool(**POOL), deployment("web", 2 * NODES, cpu="800m", memory="256Mi"))
    until(lambda: all_run(bench, 2 * NODES), 300, explain=bench.kube.summary)
    assert len(claims(bench)) == NODES
    bench.kube.apply(budget("web", minAvailable=NODES - 2), deployment("held", 1, cpu="800m"), budget("held", minAvailable=1))
    until(lambda: all_run(bench, 2 * NODES + 1), 120, explain=bench.kube.summary)
    before = price(bench)
    held_on = bench.kube.pods("Running", "app=held")[0]["spec"]["nodeName"]
    bench.kube.scale("web", NODES)
    least = NODES

    def shrunk():
        nonlocal least
        running = [pod for pod in bench.kube.pods("Running") if pod["metadata"]["labels"]["app"] == "web"]
        least = min(least, len([pod for pod in running if "deletionTimestamp" not in pod["metadata"]]))
        return len(claims(bench)) <= NODES // 2 + 2 and all_run(bench, NODES + 1)

    until(shrunk, 900, explain=bench.kube.summary)
    after = price(bench)
    print(f"\n{NODES + 1} nodes, {before} $/h; consolidated {len(claims(bench))} nodes, {after} $/h; at least {least} of {NODES} ran")
    assert after < before
    assert least >= NODES - 2
    assert bench.kube.pods("Running", "app=held")[0]["spec"]["nodeName"] == held_on

    def told():
        """Whether somebody who looks at the held pod's node finds why it stays. A look that closes nodes tells nothing."""
        about = [e for e in bench.kube.list("Event") if e["reason"] == "DisruptionBlocked"]
        return any("held" in e["message"] and e["involvedObject"]["name"] == held_on for e in about)

    until(told, 150, explain=bench.kube.summary)
