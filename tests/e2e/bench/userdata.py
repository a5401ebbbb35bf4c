"""What a node's first boot reads from its instance's user data.

Stands for: nodeadm of Amazon Linux 2023, Bottlerocket's settings, the bootstrap scripts of Amazon Linux 2 and Windows.
Reads what decides whether and as what a node joins: cluster, endpoint, authority, labels, taints, pods, what is kept
back. The rest is not looked at.
"""

import base64
import email
import re
import shlex
import tomllib
from dataclasses import dataclass, field

import yaml


@dataclass
class Boot:
    """How the kubelet is started."""

    cluster: str = ""
    endpoint: str = ""
    authority: str = ""
    labels: dict = field(default_factory=dict)
    taints: list = field(default_factory=list)
    max_pods: int | None = None
    kube_reserved: dict = field(default_factory=dict)
    system_reserved: dict = field(default_factory=dict)
    eviction_hard: dict = field(default_factory=dict)


def read(encoded):
    """The boot that base64 user data asks for, or None where it starts no kubelet."""
    text = base64.b64decode(encoded or "").decode(errors="replace")
    if "<powershell>" in text:
        return windows(text)
    if re.match(r"(?i)(mime-version|content-type):", text.lstrip()):
        return mime(text)
    if "[settings.kubernetes]" in text or "settings.kubernetes" in text:
        return bottlerocket(text)
    return shell(text)


def mime(text):
    """Parts in order; a later NodeConfig is merged over an earlier one, as nodeadm does."""
    message = email.message_from_string(text.lstrip())
    config, booted = {}, None
    for part in message.walk():
        if part.is_multipart():
            continue
        body = part.get_payload(decode=True).decode()
        if part.get_content_type() == "application/node.eks.aws":
            config = merged(config, yaml.safe_load(body) or {})
        else:
            booted = shell(body) or booted
    return node_config(config) if config else booted


def merged(under, over):
    """Maps merged, flags of the kubelet appended, everything else replaced."""
    if isinstance(under, dict) and isinstance(over, dict):
        both = {**under, **over}
        for key in under.keys() & over.keys():
            appended = key == "flags" and isinstance(under[key], list)
            both[key] = [*under[key], *over[key]] if appended else merged(under[key], over[key])
        return both
    return over


def node_config(config):
    """A NodeConfig of nodeadm."""
    spec = config.get("spec", {})
    cluster, kubelet = spec.get("cluster", {}), spec.get("kubelet", {})
    if not cluster.get("name"):
        return None
    settings = kubelet.get("config") or {}
    boot = Boot(cluster["name"], cluster.get("apiServerEndpoint", ""), cluster.get("certificateAuthority", ""))
    boot.taints = [dict(taint) for taint in settings.get("registerWithTaints") or []]
    boot.max_pods = settings.get("maxPods")
    boot.kube_reserved = settings.get("kubeReserved") or {}
    boot.system_reserved = settings.get("systemReserved") or {}
    boot.eviction_hard = settings.get("evictionHard") or {}
    # Each flag is one argument; a shell's quotes in it are nodeadm's to take off.
    flags(boot, [word for flag in kubelet.get("flags") or [] for word in shlex.split(flag)])
    return boot


def shell(text):
    """A script that calls Amazon Linux 2's bootstrap.sh."""
    for line in text.replace("\\\n", " ").splitlines():
        if "/etc/eks/bootstrap.sh" not in line:
            continue
        words = shlex.split(line)
        words = words[words.index("/etc/eks/bootstrap.sh") + 1 :]
        named = dict(zip(words, words[1:]))
        boot = Boot(words[0], named.get("--apiserver-endpoint", ""), named.get("--b64-cluster-ca", ""))
        flags(boot, shlex.split(named.get("--kubelet-extra-args", "")))
        return boot
    return None


def windows(text):
    """A script that calls Start-EKSBootstrap.ps1."""
    found = {
        name: double or single for name, single, double in re.findall(r"-(\w+)\s+(?:'([^']*)'|\"([^\"]*)\")", text)
    }
    if not found.get("EKSClusterName"):
        return None
    boot = Boot(found["EKSClusterName"], found.get("APIServerEndpoint", ""), found.get("Base64ClusterCA", ""))
    flags(boot, shlex.split(found.get("KubeletExtraArgs", "")))
    return boot


def bottlerocket(text):
    """Bottlerocket's settings in TOML."""
    settings = tomllib.loads(text).get("settings", {}).get("kubernetes", {})
    if not settings.get("cluster-name"):
        return None
    boot = Boot(settings["cluster-name"], settings.get("api-server", ""), settings.get("cluster-certificate", ""))
    boot.labels = dict(settings.get("node-labels", {}))
    for key, values in settings.get("node-taints", {}).items():
        boot.taints += [taint(f"{key}={value}") for value in ([values] if isinstance(values, str) else values)]
    boot.max_pods = settings.get("max-pods")
    boot.kube_reserved = settings.get("kube-reserved", {})
    boot.system_reserved = settings.get("system-reserved", {})
    boot.eviction_hard = settings.get("eviction-hard", {})
    return boot


def flags(boot, words):
    """Flags of the kubelet."""
    for word in words:
        name, _, value = word.partition("=")
        value = value.strip("\"'")
        pairs = dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
        if name == "--node-labels":
            boot.labels.update(pairs)
        elif name == "--register-with-taints":
            boot.taints += [taint(entry) for entry in value.split(",") if entry]
        elif name == "--max-pods":
            boot.max_pods = int(value)
        elif name == "--kube-reserved":
            boot.kube_reserved = pairs
        elif name == "--system-reserved":
            boot.system_reserved = pairs
        elif name == "--eviction-hard":
            boot.eviction_hard = dict(pair.split("<", 1) for pair in value.split(",") if "<" in pair)


def taint(written):
    """`key=value:effect`, where the value may be missing."""
    key, _, effect = written.rpartition(":")
    key, _, value = key.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}
