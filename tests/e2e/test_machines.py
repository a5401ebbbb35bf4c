"""How machines of the bench read user data and reckon what pods may use. Needs no bench."""

import base64
from pathlib import Path

import pytest

from bench import userdata
from bench.quantities import amount, capacity

#: What Journeyman writes, by its own tests; files whose name has `bad-` in it are refusals. Notes stand before a line `----`.
WRITTEN = Path(__file__).resolve().parents[2] / "shared/cloud/tests/user_data"
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}

AL2023 = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo hello
--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {maxPods: 5}
    flags: ['--node-labels=a=b']
--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: bench, apiServerEndpoint: 'https://127.0.0.1:1', certificateAuthority: QQ==, cidr: 10.100.0.0/16}
  kubelet:
    config:
      maxPods: 29
      kubeReserved: {cpu: 70m, memory: 574Mi}
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
    flags: ['--node-labels="team=a,karpenter.sh/nodepool=default"']
--//--
"""

BOTTLEROCKET = """
[settings.kubernetes]
api-server = "https://127.0.0.1:1"
cluster-certificate = "QQ=="
cluster-name = "bench"
max-pods = 29
[settings.kubernetes.kube-reserved]
cpu = "70m"
memory = "574Mi"
[settings.kubernetes.node-labels]
team = "a"
"karpenter.sh/nodepool" = "default"
[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
"""

AL2 = """#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'bench' --apiserver-endpoint 'https://127.0.0.1:1' --b64-cluster-ca 'QQ==' \\
--use-max-pods false \\
--kubelet-extra-args '--node-labels="team=a,karpenter.sh/nodepool=default" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=29 --kube-reserved="cpu=70m,memory=574Mi"'
"""

WINDOWS = """<powershell>
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"
& $EKSBootstrapScriptFile -EKSClusterName 'bench' -APIServerEndpoint 'https://127.0.0.1:1' -Base64ClusterCA 'QQ==' -KubeletExtraArgs '--node-labels="team=a,karpenter.sh/nodepool=default" --register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=29 --kube-reserved="cpu=70m,memory=574Mi"'
</powershell>
"""


def read(text):
    """The boot of a text."""
    return userdata.read(base64.b64encode(text.encode()).decode())


@pytest.mark.parametrize("text", [AL2023, BOTTLEROCKET, AL2, WINDOWS], ids=["al2023", "bottlerocket", "al2", "windows"])
def test_each_family_joins_as_its_user_data_says(text):
    boot = read(text)
    assert (boot.cluster, boot.endpoint, boot.authority) == ("bench", "https://127.0.0.1:1", "QQ==")
    assert boot.labels.items() >= {"team": "a", "karpenter.sh/nodepool": "default"}.items()
    assert boot.taints == [UNREGISTERED]
    assert boot.max_pods == 29
    assert boot.kube_reserved == {"cpu": "70m", "memory": "574Mi"}


def test_flags_of_several_node_configs_add_up():
    assert read(AL2023).labels["a"] == "b"


@pytest.mark.parametrize("text", ["", "#!/bin/bash\necho hello\n", "[settings.kubernetes]\nmax-pods = 3\n"])
def test_user_data_without_a_cluster_starts_no_kubelet(text):
    assert read(text) is None


def test_a_taint_may_have_a_value():
    assert userdata.taint("dedicated=gpu:NoSchedule") == {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def test_pods_may_use_what_is_neither_reserved_nor_the_kernels():
    instance = {
        "memory_mib": 8192,
        "vcpus": 2,
        "interfaces": 3,
        "addresses_per_interface": 10,
        "nvidia_gpus": 0,
    }
    total, left = capacity(instance, read(AL2023))
    assert (total["cpu"], left["cpu"]) == ("2000m", "1930m")
    assert int(total["memory"]) == 7700 * 2**20
    assert int(total["memory"]) - int(left["memory"]) == (574 + 100) * 2**20
    boot = userdata.Boot("bench", eviction_hard={"memory.available": "5%"})
    total, left = capacity(instance, boot)
    assert total["pods"] == "29"
    assert int(total["memory"]) - int(left["memory"]) == int(total["memory"]) * 5 // 100


@pytest.mark.parametrize(
    ("written", "number"), [("1", 1), ("100m", 0.1), ("1Gi", 2**30), ("2k", 2000), ("1.5Mi", 1.5 * 2**20)]
)
def test_quantities_are_read(written, number):
    assert amount(written) == pytest.approx(number)


def written_by_journeyman():
    """The user data of each family that Journeyman writes itself."""
    paths = [path for path in sorted(WRITTEN.glob("*.txt")) if "bad-" not in path.name]
    return [path for path in paths if not path.name.startswith("custom")]


@pytest.mark.parametrize("path", written_by_journeyman(), ids=lambda path: path.stem)
def test_what_journeyman_writes_joins_unregistered(path):
    text = path.read_text(encoding="utf-8")
    boot = read(text.split("\n----\n", 1)[1] if text.startswith("note: ") else text)
    assert boot.cluster
    assert boot.endpoint.startswith("https://")
    assert boot.authority
    assert UNREGISTERED in [{key: taint[key] for key in ("key", "effect")} for taint in boot.taints]
    assert boot.labels["karpenter.sh/nodepool"]
    assert boot.max_pods
