"""The life of instances, and what a test may see of them without asking EC2.

Stands for: the seconds that an instance is `pending` before it runs and `shutting-down` before it is gone (moto skips
both), what `ec2:DescribeInstanceStatus` says of hosts that fail and of work that is planned on them, and the
hypervisor's own knowledge of what runs, by which the bench boots nodes without calls in the log.
"""

import threading
import time

from moto.ec2.models import ec2_backends
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.instances import Instance, InstanceState


class Machines:
    """Moves instances from state to state as time passes."""

    def __init__(self):
        self.reset()

    def reset(self):
        """As at the start: instances take half a second to run, and to end."""
        self.pending_seconds = 0.5
        self.shutting_down_seconds = 0.5

    def install(self):
        """Lets instances begin `pending` and end over `shutting-down`, and starts the clock."""
        machines = self
        begin, terminate = Instance.__init__, Instance.terminate

        def began(instance, *arguments, **named):
            begin(instance, *arguments, **named)
            if machines.pending_seconds > 0:
                instance._state = InstanceState("pending", 0)
            instance.changes_at = time.monotonic() + machines.pending_seconds

        def ended(instance):
            was_gone = instance.state == "terminated"
            previous = terminate(instance)
            if not was_gone and machines.shutting_down_seconds > 0:
                instance._state = InstanceState("shutting-down", 32)
                instance.changes_at = time.monotonic() + machines.shutting_down_seconds
            return previous

        Instance.__init__, Instance.terminate = began, ended
        Instance.told = {}
        for name in ("instance_status", "system_status"):
            setattr(Instance, name, property(told_or(name, getattr(Instance, name).fget)))
        Instance.events = property(lambda instance: instance.told.get("events"))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            time.sleep(0.1)
            now = time.monotonic()
            for instance in everyone():
                if getattr(instance, "changes_at", now + 1) > now:
                    continue
                if instance.state == "pending":
                    instance._state = InstanceState("running", 16)
                elif instance.state == "shutting-down":
                    instance._state = InstanceState("terminated", 48)

    def tell(self, number, told):
        """Sets what EC2 says of an instance: `instance_status` and `system_status` as EC2 words them, and `events`."""
        for instance in everyone():
            if instance.id == number:
                instance.told = told

    def forget(self):
        """Ends all instances at once and forgets them, and the launch templates with them."""
        for regions in list(ec2_backends.values()):
            for backend in list(regions.values()):
                for reservation in list(backend.reservations.values()):
                    for instance in reservation.instances:
                        if instance.state not in ("shutting-down", "terminated"):
                            instance.terminate()
                backend.reservations.clear()
                for template in list(backend.launch_templates.values()):
                    # By id: two made at the same moment may have one name.
                    backend.delete_launch_template("", template.id)

    def list(self):
        """All instances of all regions, with what is needed to play their part."""
        return [describe(instance) for instance in everyone()]


def told_or(name, original):
    """What a test has said, and otherwise what moto says."""
    return lambda instance: instance.told.get(name) or original(instance)


def everyone():
    """All instances of all accounts and regions."""
    return [
        instance
        for regions in list(ec2_backends.values())
        for backend in list(regions.values())
        for reservation in list(backend.reservations.values())
        for instance in list(reservation.instances)
    ]


def describe(instance):
    """An instance as the bench wants it."""
    info = INSTANCE_TYPES[instance.instance_type]
    card = info["NetworkInfo"]["NetworkCards"][info["NetworkInfo"].get("DefaultNetworkCardIndex", 0)]
    return {
        "id": instance.id,
        "state": instance.state,
        "region": instance.region_name,
        "zone": instance.availability_zone,
        "private_dns_name": instance.private_dns_name,
        "private_ip": instance.private_ip_address,
        "image_id": instance.image_id,
        "architecture": instance.architecture,
        "platform": instance.platform,
        "instance_type": instance.instance_type,
        "capacity_type": instance.lifecycle or "on-demand",
        "user_data": str(instance.user_data or ""),
        "tags": {tag["key"]: tag["value"] for tag in instance.get_tags()},
        "vcpus": info["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": info["MemoryInfo"]["SizeInMiB"],
        "interfaces": card["MaximumNetworkInterfaces"],
        "addresses_per_interface": info["NetworkInfo"]["Ipv4AddressesPerInterface"],
        "nvidia_gpus": sum(
            gpu["Count"] for gpu in info.get("GpuInfo", {}).get("Gpus", []) if gpu.get("Manufacturer") == "NVIDIA"
        ),
    }
