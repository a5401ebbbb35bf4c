"""Manifests as users write them, short."""


def node_class(name="default", **spec):
    """An EC2NodeClass that finds the bench's network by its tags."""
    discovery = [{"tags": {"karpenter.sh/discovery": "bench"}}]
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "role": "journeyman-node",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": discovery,
            "securityGroupSelectorTerms": discovery,
            **spec,
        },
    }


def node_pool(name="default", requirements=(), node_class="default", **spec):
    """A NodePool; requirements are (key, operator, values…)."""
    template = spec.pop("template", {})
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class},
                    "requirements": [
                        {"key": key, "operator": operator, "values": list(values)}
                        for key, operator, *values in requirements
                    ],
                    **template,
                }
            },
            **spec,
        },
    }


def deployment(name, replicas, cpu="500m", memory="256Mi", **pod):
    """A Deployment of plain pods."""
    labels = {"app": name}
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 30, "containers": [container], **pod},
            },
        },
    }


def budget(name, **spec):
    """A PodDisruptionBudget for the pods of a Deployment."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


def role_binding(role, *functions):
    """A ClusterRoleBinding of a ClusterRole for some of Journeyman's functions."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{role}-{'-'.join(functions)}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"journeyman:{name}"} for name in functions],
    }
