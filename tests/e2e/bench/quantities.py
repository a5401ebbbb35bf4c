"""What a machine has and what of it pods may use, as a kubelet reckons it."""

#: Suffixes of Kubernetes' quantities.
SUFFIXES = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "m": 0.001,
}

#: How much of its nominal memory a machine's kernel does not see.
UNSEEN_MEMORY = 0.06
DISK = 20 * 2**30


def amount(written):
    """A quantity as a number."""
    written = str(written)
    for suffix, factor in SUFFIXES.items():
        if written.endswith(suffix):
            return float(written[: -len(suffix)]) * factor
    return float(written)


def capacity(instance, boot):
    """Capacity and allocatable of an instance that boots so."""
    memory = int(instance["memory_mib"] * (1 - UNSEEN_MEMORY)) * 2**20
    pods = boot.max_pods or instance["interfaces"] * (instance["addresses_per_interface"] - 1) + 2
    total = {"cpu": instance["vcpus"], "memory": memory, "ephemeral-storage": DISK, "pods": pods}
    if instance["nvidia_gpus"]:
        total["nvidia.com/gpu"] = instance["nvidia_gpus"]
    left = dict(total)
    for reserved in (boot.kube_reserved, boot.system_reserved):
        for resource, quantity in reserved.items():
            if resource in left:
                left[resource] -= amount(quantity)
    left["memory"] -= threshold(boot.eviction_hard.get("memory.available", "100Mi"), memory)
    left["ephemeral-storage"] -= threshold(boot.eviction_hard.get("nodefs.available", "10%"), DISK)
    return written(total), written(left)


def threshold(value, of):
    """An eviction threshold: a quantity or a share."""
    if str(value).endswith("%"):
        share = float(str(value)[:-1]) / 100
        return 0 if share >= 1 else share * of
    return amount(value)


def written(resources):
    """Amounts as Kubernetes writes them."""
    return {
        resource: f"{round(value * 1000)}m" if resource == "cpu" else str(int(value))
        for resource, value in resources.items()
    }
