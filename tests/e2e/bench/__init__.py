"""The bench: a real control plane, AWS's emulators and machines that boot, for tests of Journeyman end to end."""

from .bench import Bench
from .functions import Function
from .kube import ApiError, Kube, condition, until
from .manifests import budget, deployment, node_class, node_pool, role_binding

__all__ = [
    "ApiError",
    "Bench",
    "Function",
    "Kube",
    "budget",
    "condition",
    "deployment",
    "node_class",
    "node_pool",
    "role_binding",
    "until",
]
