"""Turns running instances into nodes.

Stands for: an instance's boot with its kubelet, the cloud-controller-manager, and what EC2 tells EventBridge.

- **Boot.** Some seconds after an instance runs, a Node appears under its private DNS name, with the provider id, the
  labels that kubelet and cloud provider set, the labels and taints that its user data asks for, and capacity by its
  type. An instance whose user data starts no kubelet, or one of another cluster, endpoint or authority, never becomes a
  node: what an instance gets wrong here it gets wrong in AWS. From then on kwok plays the kubelet.
- **End.** Some seconds after an instance is shutting down its Node is deleted, as the cloud-controller-manager does
  (which first waits for the node to be NotReady; here it stays Ready till then).
- **Events.** Changes of an instance's state are put on EventBridge's default bus as EC2 does.

How it differs: a machine has a little less memory than its type says (6 %), as real ones have; disks are 20 GiB
whatever the block devices; neither CSINode objects nor add-ons are made.
"""

import json
import threading
import time
import traceback

import requests

from . import userdata
from .kube import ApiError
from .quantities import capacity

#: What nodes of a kwok cluster are known by.
FAKE = {"kwok.x-k8s.io/node": "fake"}


class Kubelets:
    """Watches the emulator's instances until it is stopped. All settings may be changed at any time."""

    def __init__(self, ec2_url, kube, cluster, put_event):
        self.url = ec2_url
        self.kube = kube
        self.cluster = cluster
        self.put_event = put_event
        self.boot_seconds = 1.0
        self.removal_seconds = 1.0
        #: Says of an instance whether its kubelet comes up at all.
        self.boots = lambda _: True
        #: Whether Nodes of ended instances are deleted.
        self.removes_nodes = True
        #: Changes a Node before it is registered, for machines that are not as their type says.
        self.change = lambda node, _: node
        #: Why instances did not become nodes, by instance.
        self.refused = {}
        self.failures = []
        self._states = {}
        self._since = {}
        self._nodes = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)

    def start(self):
        """Starts watching."""
        self._thread.start()

    def stop(self):
        """Ends watching."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def reset(self):
        """The settings as at the start."""
        self.boot_seconds = self.removal_seconds = 1.0
        self.boots, self.removes_nodes, self.change = (lambda _: True), True, (lambda node, _: node)
        self.refused.clear()

    def instances(self, *states):
        """The instances there are, of some states where given."""
        found = requests.get(f"{self.url}/_bench/instances", timeout=30).json()
        return [instance for instance in found if not states or instance["state"] in states]

    def _run(self):
        while not self._stop.wait(0.25):
            try:
                found = self.instances()
                for instance in found:
                    self._look(instance, time.monotonic())
                for number in self._states.keys() - {instance["id"] for instance in found}:
                    self._remove(number)
                    del self._states[number], self._since[number]
            except Exception:
                # Servers are going down, or an object changed under us. To look again is right whatever it was, and a
                # thread that ended would let every later test fail for no reason to be seen.
                self.failures.append(traceback.format_exc())

    def _look(self, instance, now):
        number, state = instance["id"], instance["state"]
        if self._states.get(number) != state:
            self._states[number] = state
            self._since[number] = now
            self.put_event(state_change(instance))
        age = now - self._since[number]
        if state == "running" and number not in self._nodes and age >= self.boot_seconds:
            self._boot(instance)
        ended = state in ("shutting-down", "terminated")
        if ended and self.removes_nodes and age >= self.removal_seconds:
            self._remove(number)

    def _remove(self, number):
        """Deletes the Node of an instance, if it still is its own: addresses are used again, and names with them."""
        name = self._nodes.get(number)
        if name is None:
            return
        node = self.kube.get("Node", name)
        if node and node["spec"].get("providerID", "").endswith(f"/{number}"):
            self.kube.delete("Node", name)
        self._nodes[number] = None

    def _boot(self, instance):
        if not self.boots(instance):
            return
        boot = userdata.read(instance["user_data"])
        refusal = self._refusal(boot)
        if refusal:
            self.refused[instance["id"]] = refusal
            self._nodes[instance["id"]] = None
            return
        node = self.change(node_of(instance, boot), instance)
        try:
            self.kube.create(node)
        except ApiError as error:
            if error.status == 409:
                # The Node of a former machine of that address is still there: again when it is gone.
                return
            raise
        self._nodes[instance["id"]] = node["metadata"]["name"]

    def _refusal(self, boot):
        """Why the machine can't join, or None."""
        if boot is None:
            return "its user data starts no kubelet"
        for what in ("name", "endpoint", "authority"):
            given = boot.cluster if what == "name" else getattr(boot, what)
            if given != self.cluster[what]:
                return f"its user data has {what} {given[:80]!r} of the cluster, not {self.cluster[what][:80]!r}"
        return None


def node_of(instance, boot):
    """The Node as it looks once kubelet and cloud provider have registered it."""
    name = instance["private_dns_name"]
    architecture = {"x86_64": "amd64"}.get(instance["architecture"], instance["architecture"])
    system = "windows" if instance["platform"] == "windows" else "linux"
    labels = {
        "beta.kubernetes.io/arch": architecture,
        "beta.kubernetes.io/instance-type": instance["instance_type"],
        "beta.kubernetes.io/os": system,
        "failure-domain.beta.kubernetes.io/region": instance["region"],
        "failure-domain.beta.kubernetes.io/zone": instance["zone"],
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
        "node.kubernetes.io/instance-type": instance["instance_type"],
        "topology.kubernetes.io/region": instance["region"],
        "topology.kubernetes.io/zone": instance["zone"],
    }
    total, allocatable = capacity(instance, boot)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": dict(FAKE), "labels": {**labels, **boot.labels}},
        "spec": {
            "providerID": f"aws:///{instance['zone']}/{instance['id']}",
            **({"taints": boot.taints} if boot.taints else {}),
        },
        "status": {
            "capacity": total,
            "allocatable": allocatable,
            "addresses": [
                {"type": "InternalIP", "address": instance["private_ip"]},
                {"type": "InternalDNS", "address": name},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": architecture,
                "operatingSystem": system,
                "kubeletVersion": "v1.37.2-eks-bench",
                "containerRuntimeVersion": "containerd://2.1.5",
                "kernelVersion": "6.12.0",
                "osImage": instance["image_id"],
                "bootID": instance["id"],
                "machineID": instance["id"],
                "systemUUID": instance["id"],
                "kubeProxyVersion": "",
            },
        },
    }


def state_change(instance):
    """The event that EC2 sends when an instance's state changes."""
    return {
        "Source": "aws.ec2",
        "DetailType": "EC2 Instance State-change Notification",
        "Resources": [f"arn:aws:ec2:{instance['region']}:123456789012:instance/{instance['id']}"],
        "Detail": json.dumps({"instance-id": instance["id"], "state": instance["state"]}),
    }
