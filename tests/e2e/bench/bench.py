"""Everything at once: start it, steer it, end it."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml

from .cloud import ACCOUNT, REGION, Cloud, credentials, endpoints
from .functions import DEPLOYMENT, NAMES, Functions, package
from .kube import ApiError, Kube, until
from .kubelets import Kubelets
from .processes import Process, clean_environment, free_ports

ROOT = Path(__file__).resolve().parents[3]


class Bench:
    """A cluster named `bench` in an AWS account of its own, all on this machine.

    `kube` is the cluster's administrator, `cloud` the account's owner, `kubelets` the machines, `functions` the Lambda
    functions. Everything ends with `stop()`, with the `with` block or with the process, whatever comes first.
    Without `infrastructure` there is only the network, and nothing of Terraform's.
    """

    cluster = "bench"

    def __init__(self, emulators=None, journeyman=None, infrastructure=True):
        self.emulators = Path(emulators or os.environ["BENCH_EMULATORS"])
        self.journeyman = Path(journeyman or os.environ["BENCH_JOURNEYMAN"])
        # Short, for the path of etcd's socket is limited.
        self.folder = Path(tempfile.mkdtemp(prefix="journeyman-", dir="/tmp"))
        self.processes = {}
        self.timers = []
        self.seconds = {}
        self.infrastructure = infrastructure
        self.keys = {name: credentials() for name in NAMES}
        self.kube = self.cloud = self.kubelets = self.functions = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts everything and waits until it is ready."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Ends everything that was started, by its own id, and removes what it kept."""
        for timer in self.timers:
            timer.cancel()
        if self.kubelets:
            self.kubelets.stop()
        for process in reversed(self.processes.values()):
            process.stop()
        if os.environ.get("BENCH_KEEP") != "true":
            shutil.rmtree(self.folder, ignore_errors=True)

    def reset(self):
        """Back to an empty cluster and an untouched account, between tests. Finalizers are taken off.

        What is in the bucket stays: a catalogue once made serves all tests.
        """
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()
        self.functions.stop()
        self.kubelets.reset()
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "PodDisruptionBudget"):
            self.kube.delete_all(kind, "default")
        self.kube.delete_all("Pod", "default", grace=0)
        for kind in ("NodeClaim", "NodePool", "EC2NodeClass", "Node"):
            self.kube.delete_all(kind)
            for item in self.kube.list(kind):
                self.kube.release(kind, item["metadata"]["name"])
        for kind in ("ClusterRoleBinding", "RoleBinding", "Lease"):
            for item in self.kube.list(kind):
                if is_journeymans(item):
                    self.kube.delete(kind, item["metadata"]["name"], item["metadata"].get("namespace"))
        self.control("reset", {}, "POST")
        self.cloud.clear()

    def environment(self, function="provision"):
        """The environment of `journeyman run`: that of the functions, with the key of one of them."""
        key, secret, token = self.keys[function]
        return {
            **endpoints(self.cloud.ec2_url, self.cloud.messages_url),
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_SESSION_TOKEN": token,
            **self.cloud.account.environment,
            "JOURNEYMAN_INTERRUPTION_QUEUE_URL": self.cloud.account.queues["interruption"],
        }

    def kubeconfig(self, user="admin"):
        """The path of a user's kubeconfig: admin, tester or a function."""
        return self.folder / "cluster" / f"{user}.kubeconfig"

    def kubectl(self, *arguments, user="admin"):
        """What kubectl prints."""
        command = [self.folder / "cluster" / "bin" / "kubectl", "--kubeconfig", self.kubeconfig(user), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environment())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def control(self, what, given, method="PUT"):
        """One of the EC2 emulator's own requests: `stock`, `prices`, `faults`, `parameters`, `machines`…"""
        answer = requests.request(method, f"{self.cloud.ec2_url}/_bench/{what}", json=given, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def sold_out(self, *rows):
        """Sets the stock table: rows with `instance_type`, `zone`, `capacity_type`, `available`, `error`."""
        self.control("stock", list(rows))

    def fail(self, operation, code=None, kind="error", times=1, **more):
        """Lets an EC2 operation go wrong; kinds are in tests/emulators/faults.py."""
        row = {"service": "ec2", "operation": operation, "kind": kind, "code": code, "times": times, **more}
        self.control("faults", [row])

    def calls(self, operation=None, function=None):
        """The calls that the EC2 emulator answered, of an operation or a function where given."""
        key = self.keys[function][0] if function else None
        found = requests.get(f"{self.cloud.ec2_url}/_bench/calls", timeout=30).json()
        return [c for c in found if operation in (None, c["operation"]) and key in (None, c["key"])]

    def requests_of(self, *functions):
        """The requests that functions made of the API server: who, verb, resource, path and status, in order."""
        found = []
        users = {f"journeyman:{function}" for function in functions}
        for line in (self.folder / "cluster" / "audit.log").read_text().splitlines():
            event = json.loads(line)
            if event["user"]["username"] in users:
                found.append(
                    {
                        "user": event["user"]["username"],
                        "verb": event["verb"],
                        "resource": event.get("objectRef", {}).get("resource"),
                        "subresource": event.get("objectRef", {}).get("subresource"),
                        "path": event["requestURI"],
                        "status": event.get("responseStatus", {}).get("code"),
                    }
                )
        return found

    def warn_of_interruption(self, instance_id, seconds=120):
        """Takes a Spot instance back as AWS does: a warning, and its end after the notice."""
        self.cloud.put_event(
            {
                "Source": "aws.ec2",
                "DetailType": "EC2 Spot Instance Interruption Warning",
                "Resources": [f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/{instance_id}"],
                "Detail": json.dumps({"instance-id": instance_id, "instance-action": "terminate"}),
            }
        )
        timer = threading.Timer(seconds, self.cloud.ec2.terminate_instances, kwargs={"InstanceIds": [instance_id]})
        timer.daemon = True
        timer.start()
        self.timers.append(timer)

    def host_fails(self, instance_id, check="system_status"):
        """Lets a status check of an instance fail, as `ec2:DescribeInstanceStatus` tells it."""
        details = [{"Name": "reachability", "Status": "failed", "ImpairedSince": "2026-01-01T00:00:00Z"}]
        self.control(f"status/{instance_id}", {check: {"Status": "impaired", "Details": details}})

    def host_retires(self, instance_id, not_before):
        """Announces an instance's retirement, an ISO time, as `ec2:DescribeInstanceStatus` tells it."""
        event = {
            "InstanceEventId": f"instance-event-{instance_id[2:]}",
            "Code": "instance-retirement",
            "Description": "The instance is running on degraded hardware",
            "NotBefore": not_before,
        }
        self.control(f"status/{instance_id}", {"events": [event]})

    def node_is_ready(self, name, ready):
        """Lets a node's kubelet fall silent, or come back: its condition Ready changes, with what Kubernetes makes of it."""
        label = {"node-not-ready.stage.kwok.x-k8s.io": None if ready else "true"}
        self.kube.patch("Node", name, {"metadata": {"labels": label}})

    @contextmanager
    def journeyman_running(self, *arguments, **variables):
        """`journeyman run` beside the cluster for as long as the block lasts; its process.

        It is one process with one key, so it comes as the cluster's administrator. Variables are added to its environment.
        """
        environment = {**clean_environment(), **self.environment("provision"), **variables}
        log = self.folder / f"journeyman-{len(list(self.folder.glob('journeyman-*')))}.log"
        command = [self.journeyman, "run", "--kubeconfig", self.kubeconfig(), *arguments]
        process = Process("journeyman run", command, log, environment)
        try:
            yield process
        finally:
            process.stop()

    def give_rights(self):
        """Gives the functions' groups the rights in the cluster that a deployment gives them, and no others. Waits until
        the server knows of them."""
        for file in sorted((ROOT / "infra" / "kubernetes").glob("*.yaml")):
            if file.stem not in ("crds", "kustomization"):
                self.kube.apply_text(file.read_text(encoding="utf-8"))
        until(lambda: all(self._may(name, "list", "karpenter.sh", "nodeclaims") for name in NAMES))

    def give_right_to_surge(self):
        """Lets `lifecycle` restart Deployments whose pods ask for it, which a deployment doesn't by itself."""
        file = ROOT / "infra" / "kubernetes" / "optional" / "surge.yaml"
        self.kube.apply_text(file.read_text(encoding="utf-8"))
        until(lambda: self._may("lifecycle", "patch", "apps", "deployments"))

    def _may(self, function, verb, group, resource):
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": f"journeyman:{function}",
                "groups": [f"journeyman:{function}"],
                "resourceAttributes": {"group": group, "resource": resource, "verb": verb, "namespace": "default"},
            },
        }
        answer = self.kube.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json=review)
        return answer["status"]["allowed"]

    def wake(self):
        """Sends the hint that pods are pending, as a schedule does each minute."""
        self.cloud.sqs.send_message(
            QueueUrl=self.cloud.account.queues["wake"],
            MessageBody=json.dumps({"cluster": self.cluster}),
            MessageGroupId=self.cluster,
            MessageDeduplicationId=str(time.monotonic_ns()),
        )

    def memory_mib(self):
        """Resident memory of each part."""
        return {name: round(process.memory_mib()) for name, process in self.processes.items()}

    def _start(self):
        began = time.monotonic()
        ec2_port, messages_port = free_ports(2)
        ec2_url, messages_url = (f"http://127.0.0.1:{port}" for port in (ec2_port, messages_port))
        self._write_authenticator(ec2_url)
        environment = {**clean_environment(), "PYTHONDONTWRITEBYTECODE": "1", "MINISTACK_ACCOUNT_ID": ACCOUNT}
        # What Lambda's functions inherit: a folder of their own, where AWS is, and who they are.
        keys = {f"{DEPLOYMENT}-{name}": ":".join(key) for name, key in self.keys.items()}
        functions = {
            **environment,
            **endpoints(ec2_url, messages_url),
            "TMPDIR": str(self.folder),
            "BENCH_CREDENTIALS": json.dumps({**keys, "trial": keys[f"{DEPLOYMENT}-provision"]}),
        }
        programs = ROOT / "tests" / "emulators"
        self._spawn("ec2", [self.emulators / "ec2/bin/python", programs / "ec2.py", ec2_port], environment)
        self._spawn(
            "messages", [self.emulators / "messages/bin/python", programs / "messages.py", messages_port], functions
        )
        run = ROOT / "tests/control-plane/run.sh"
        self._spawn(
            "cluster",
            [run, self.folder / "cluster"],
            {**clean_environment(), "KUBE_BIN": os.environ["BENCH_CONTROL_PLANE"]},
        )

        self._await("ec2", lambda: answers(f"{ec2_url}/_bench/calls"), began)
        self._await("messages", lambda: answers(f"{messages_url}/_ministack/health"), began)
        self.cloud = Cloud(ec2_url, messages_url, self.cluster)
        self.cloud.make_network()
        if self.infrastructure:
            zips = package(os.environ.get("BENCH_FUNCTIONS"), self.folder / "package")
            self.cloud.make(self.folder, zips)
            self.functions = Functions(self)
        self.seconds["account"] = time.monotonic() - began
        self._await("cluster", (self.folder / "cluster" / "ready").exists, began)
        self.kube = Kube(self.kubeconfig())
        self._make_cluster_known()
        self._make_kinds_known()
        cluster = {"name": self.cluster, "endpoint": self.kube.endpoint, "authority": self.authority()}
        self.kubelets = Kubelets(ec2_url, Kube(self.kubeconfig()), cluster, self.cloud.put_event)
        self.kubelets.start()
        self.seconds["all"] = time.monotonic() - began

    def authority(self):
        """The cluster's certificate authority, base64 of PEM, as EKS gives it."""
        with open(self.kubeconfig(), encoding="utf-8") as file:
            path = yaml.safe_load(file)["clusters"][0]["cluster"]["certificate-authority"]
        return base64.b64encode(Path(path).read_bytes()).decode()

    def _spawn(self, name, command, environment):
        self.processes[name] = Process(name, command, self.folder / f"{name}.log", environment)

    def _await(self, name, ready, began):
        self.processes[name].await_ready(ready)
        self.seconds[name] = time.monotonic() - began

    def _write_authenticator(self, ec2_url):
        """Tells the API server whom to ask about tokens of EKS. The file must be there before it starts."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "authenticator", "cluster": {"server": f"{ec2_url}/_bench/authenticate"}}],
            "users": [{"name": "api-server", "user": {}}],
            "contexts": [{"name": "webhook", "context": {"cluster": "authenticator", "user": "api-server"}}],
            "current-context": "webhook",
        }
        (self.folder / "cluster.authenticator").write_text(yaml.safe_dump(config), encoding="utf-8")

    def _make_cluster_known(self):
        """What EKS knows of the cluster, and who the functions' keys are in it."""
        version = self.kube.request("GET", "/version")
        self.control(
            f"clusters/{self.cluster}",
            {
                "endpoint": self.kube.endpoint,
                "certificateAuthority": {"data": self.authority()},
                "version": f"{version['major']}.{version['minor']}",
            },
        )
        self.control(
            "identities",
            {
                key: {
                    "secret": secret,
                    "token": token,
                    "username": f"journeyman:{name}",
                    "groups": [f"journeyman:{name}"],
                    "cluster": self.cluster,
                }
                for name, (key, secret, token) in self.keys.items()
            },
        )

    def _make_kinds_known(self):
        """Applies our CRDs and waits until the server stores objects of theirs."""
        printed = subprocess.run([self.journeyman, "crds"], capture_output=True, text=True, check=True).stdout
        made = self.kube.apply_text(printed)
        until(lambda: all(served(self.kube, crd["spec"]["names"]["kind"]) for crd in made))


def is_journeymans(item):
    """Whether a Lease is held by Journeyman, or a binding gives it rights."""
    subjects = [subject["name"] for subject in item.get("subjects") or []]
    return "journeyman" in item["metadata"]["name"] or any(name.startswith("journeyman:") for name in subjects)


def served(kube, kind):
    """Whether the server answers for a kind."""
    try:
        kube.list(kind)
    except (ApiError, KeyError):
        return False
    return True


def answers(url):
    """Whether a server answers."""
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False
