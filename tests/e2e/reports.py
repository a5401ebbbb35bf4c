"""Figures rather than verdicts: how fast pods lead to launches, what a look at a cluster at rest costs. Printed, with `-s`."""

import statistics
import time

from bench import deployment, node_class, node_pool, until
from test_provision import SPOT, SWIFT, all_run

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
