"""The machine images that AWS publishes for EKS, and the public SSM parameters that name them.

Stands for: `ec2:DescribeImages` of Amazon's images and `ssm:GetParameter*` below `/aws/service/`, which no emulator
has and none lets a test write.

How it differs from AWS: only the newest Kubernetes versions, two releases of each image; ids are made from names, so
that they are the same in each run. Amazon Linux 2 has no images for these versions, in AWS either. Parameters can be
set, as when AWS publishes a release.
"""

import hashlib
import json
import threading

KUBERNETES_VERSIONS = ("1.35", "1.36", "1.37")
AMAZON = "602401143452"

#: Release, creation date and whether it is the one that the parameters recommend.
AL2023_RELEASES = (("v20260901", "2026-09-01T08:00:00.000Z", False), ("v20261101", "2026-11-01T08:00:00.000Z", True))
BOTTLEROCKET_RELEASES = (("1.48.0", "2026-09-02T08:00:00.000Z", False), ("1.50.0", "2026-11-02T08:00:00.000Z", True))
WINDOWS_RELEASE = "2026.11.12"
AL2023_VARIANTS = {"x86_64": ("standard", "nvidia", "neuron"), "arm64": ("standard", "nvidia")}


class Images:
    """Images in moto's form, and the parameters that lead to them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.images = []
        self.parameters = {}
        for version in KUBERNETES_VERSIONS:
            self._al2023(version)
            self._bottlerocket(version)
            self._windows(version)

    def write(self, path):
        """Writes the images where moto reads them from."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.images, file)

    def set_parameters(self, values):
        """Publishes: sets public parameters by name."""
        with self.lock:
            self.parameters.update(values)

    def answer(self, operation, request):
        """The answer to an SSM request about public parameters: status and body, or None when moto is to answer."""
        with self.lock:
            if operation == "GetParameter" and not is_own(request["Name"]):
                value = self.parameters.get(request["Name"])
                if value is None:
                    return 400, {"__type": "ParameterNotFound", "message": f"Parameter {request['Name']} not found."}
                return 200, {"Parameter": parameter(request["Name"], value)}
            if operation == "GetParameters" and not all(map(is_own, request["Names"])):
                asked = [name for name in request["Names"] if not is_own(name)]
                known = [name for name in asked if name in self.parameters]
                return 200, {
                    "Parameters": [parameter(name, self.parameters[name]) for name in known],
                    "InvalidParameters": sorted(set(asked) - set(known)),
                }
            if operation == "GetParametersByPath" and not is_own(request["Path"].rstrip("/") + "/"):
                return 200, self._by_path(request)
        return None

    def _by_path(self, request):
        path = request["Path"].rstrip("/") + "/"
        deep = request.get("Recursive", False)
        names = sorted(
            name for name in self.parameters if name.startswith(path) and (deep or "/" not in name[len(path) :])
        )
        start = int(request.get("NextToken") or 0)
        end = start + int(request.get("MaxResults") or 10)
        answer = {"Parameters": [parameter(name, self.parameters[name]) for name in names[start:end]]}
        if end < len(names):
            answer["NextToken"] = str(end)
        return answer

    def _add(self, name, architecture, created, root, *parameters, platform=None):
        image_id = "ami-" + hashlib.sha256(name.encode()).hexdigest()[:17]
        image = {
            "ami_id": image_id,
            "name": name,
            "description": name,
            "architecture": architecture,
            "creation_date": created,
            "owner_id": AMAZON,
            "image_location": f"amazon/{name}",
            "image_type": "machine",
            "public": True,
            "state": "available",
            "sriov": "simple",
            "root_device_type": "ebs",
            "root_device_name": root,
            "virtualization_type": "hvm",
            "hypervisor": "xen",
        }
        if platform:
            image["platform"] = platform
        self.images.append(image)
        for path in parameters:
            self.parameters[f"{path}/image_id"] = image_id

    def _al2023(self, version):
        base = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023"
        for architecture, variants in AL2023_VARIANTS.items():
            for variant in variants:
                for release, created, newest in AL2023_RELEASES:
                    name = f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-{release}"
                    folder = f"{base}/{architecture}/{variant}"
                    paths = [f"{folder}/{name}", *([f"{folder}/recommended"] if newest else [])]
                    self._add(name, architecture, created, "/dev/xvda", *paths)

    def _bottlerocket(self, version):
        for kind in ("", "-nvidia"):
            for architecture in ("x86_64", "arm64"):
                for release, created, newest in BOTTLEROCKET_RELEASES:
                    name = f"bottlerocket-aws-k8s-{version}{kind}-{architecture}-v{release}"
                    folder = f"/aws/service/bottlerocket/aws-k8s-{version}{kind}/{architecture}"
                    paths = [f"{folder}/{release}", *([f"{folder}/latest"] if newest else [])]
                    self._add(name, architecture, created, "/dev/xvda", *paths)

    def _windows(self, version):
        for year in ("2022", "2025"):
            stem = f"Windows_Server-{year}-English-Core-EKS_Optimized-{version}"
            self._add(
                f"{stem}-{WINDOWS_RELEASE}",
                "x86_64",
                "2026-11-12T08:00:00.000Z",
                "/dev/sda1",
                f"/aws/service/ami-windows-latest/{stem}",
                platform="windows",
            )


def is_own(name):
    """Whether a parameter is the account's own rather than one that AWS publishes."""
    return not name.startswith("/aws/service/")


def parameter(name, value):
    """A parameter as SSM writes it."""
    return {
        "Name": name,
        "Type": "String",
        "Value": value,
        "Version": 1,
        "ARN": f"arn:aws:ssm:us-east-1::parameter{name}",
        "DataType": "text",
    }
