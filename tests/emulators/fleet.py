"""CreateFleet of type `instant`, as EC2 answers it.

Stands for: the operation by which Journeyman launches all its instances. moto's own always takes the first override,
never refuses, drops the instance profile and forgets client tokens.

What holds here as in EC2: one override wins by strategy, the next takes over when capacity or addresses run out; the
call succeeds with fewer instances than asked for, or none, and says in `Errors` which overrides were refused and why;
a repeated client token gives the first answer and launches nothing; the same token with another request is refused;
tags, profile, security groups, block devices and user data come from the launch template and the request.

How it differs: strategies that weigh capacity (`price-capacity-optimized`, `capacity-optimized`, `diversified`) go by
price alone, since the stock table knows no depth of pools; `*-prioritized` and `prioritized` go by priority, lowest
first. Placement groups, capacity reservations, instance requirements and weighted capacity are not read. Other types
than `instant` are moto's.
"""

import base64
import json
from dataclasses import dataclass, field

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses.fleets import Fleets
from moto.ec2.utils import convert_tag_spec, filter_iam_instance_profiles, random_fleet_id

#: EC2's bound for decoded user data.
USER_DATA_BYTES = 16_384


@dataclass
class Option:
    """A launch template with one override: an offering that the fleet may launch."""

    template: dict
    override: dict
    spec: dict
    zone: str
    price: float
    position: int
    ids: list = field(default_factory=list)

    @property
    def instance_type(self):
        """The type it launches."""
        return self.spec["InstanceType"]

    def launched_from(self):
        """How answers name the option."""
        return {"LaunchTemplateSpecification": self.template, "Overrides": self.override}


class Refusal(Exception):
    """An option that can't be launched: an entry of `Errors`, not the end of the call."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


class InstantFleet:
    """One call: the options, what became of them, and the answer."""

    def __init__(self, request, backend, market, account, partition):
        self.request = request
        self.backend = backend
        self.market = market
        self.account = account
        self.partition = partition
        self.id = random_fleet_id()
        self.errors = []
        target = request["TargetCapacitySpecification"]
        self.wanted = int(target["TotalTargetCapacity"])
        self.capacity_type = target.get("DefaultTargetCapacityType") or "on-demand"
        spot = self.capacity_type == "spot"
        self.options_of_type = request.get("SpotOptions" if spot else "OnDemandOptions") or {}

    def launch(self):
        """Launches what can be launched and answers as EC2 does."""
        with self.market.lock:
            takes = self._share_out(sorted(self._options(), key=self._rank))
            if sum(count for _, count in takes) < int(self.options_of_type.get("MinTargetCapacity") or 0):
                takes = []
            for option, count in takes:
                row = self.market.row(option.instance_type, option.zone, self.capacity_type)
                if row is not None:
                    row.available -= count
                option.ids = self._run(option, count)
        instances = [
            {
                "LaunchTemplateAndOverrides": option.launched_from(),
                "Lifecycle": self.capacity_type,
                "InstanceIds": option.ids,
                "InstanceType": option.instance_type,
            }
            for option, _ in takes
        ]
        return {"FleetId": self.id, "Instances": instances, "Errors": self.errors}

    def _options(self):
        """The options that nothing but capacity stands against; the others become errors."""
        position = 0
        for config in self.request.get("LaunchTemplateConfigs", []):
            template, data = self._template(config["LaunchTemplateSpecification"])
            for override in config.get("Overrides") or [{}]:
                spec = {**data, **override}
                try:
                    zone = self._zone(spec)
                    self._check(spec)
                except Refusal as refusal:
                    self._refuse(template, override, refusal)
                    continue
                price = self.market.price(spec["InstanceType"], zone, self.capacity_type)
                override = {**override, "AvailabilityZone": zone}
                position += 1
                yield Option(template, override, spec, zone, price, position)

    def _template(self, wanted):
        backend = self.backend
        if wanted.get("LaunchTemplateId"):
            template = backend.get_launch_template(wanted["LaunchTemplateId"])
        else:
            template = backend.get_launch_template_by_name(wanted["LaunchTemplateName"])
        version = template.get_version(wanted.get("Version", "$Default"))
        return {"LaunchTemplateId": template.id, "Version": str(version.number)}, version.data

    def _zone(self, spec):
        subnet = spec.get("SubnetId")
        if not subnet:
            return spec.get("AvailabilityZone") or f"{self.backend.region_name}a"
        try:
            zone = self.backend.get_subnet(subnet).availability_zone
        except ServiceException as error:
            message = f"The subnet ID '{subnet}' does not exist"
            raise Refusal("InvalidSubnetID.NotFound", message) from error
        if spec.get("AvailabilityZone") not in (None, zone):
            raise Refusal("InvalidParameterValue", f"Subnet '{subnet}' is in the Availability Zone {zone}")
        return zone

    def _check(self, spec):
        name, image_id = spec.get("InstanceType"), spec.get("ImageId")
        info = INSTANCE_TYPES.get(name)
        if info is None:
            raise Refusal("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
        image = self.backend.amis.get(image_id)
        if image is None:
            raise Refusal("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
        supported = info["ProcessorInfo"]["SupportedArchitectures"]
        if image.architecture not in supported:
            text = (
                f"The architecture '{supported[0]}' of the specified instance type does not match the "
                f"architecture '{image.architecture}' of the specified AMI."
            )
            raise Refusal("InvalidParameterValue", text)
        if len(base64.b64decode(str(spec.get("UserData") or ""))) > USER_DATA_BYTES:
            raise Refusal("InvalidParameterValue", f"User data is limited to {USER_DATA_BYTES} bytes")
        profile = spec.get("IamInstanceProfile") or {}
        if profile and not self._profile_exists(profile):
            value = profile.get("Name") or profile.get("Arn")
            text = (
                f"Value ({value}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
            )
            raise Refusal("InvalidParameterValue", text)

    def _profile_exists(self, profile):
        try:
            found = filter_iam_instance_profiles(self.account, self.partition, profile.get("Arn"), profile.get("Name"))
        except ServiceException:
            return False
        return found is not None

    def _rank(self, option):
        strategy = self.options_of_type.get("AllocationStrategy") or "lowest-price"
        priority = float(option.override.get("Priority") or 0)
        by = (priority, option.price) if strategy.endswith("prioritized") else (option.price, priority)
        return (*by, option.position)

    def _share_out(self, options):
        """Who launches how many: each takes what it can, in order, until none is wanted."""
        takes, left, addresses, stock = [], self.wanted, {}, {}
        for option in options:
            if left == 0:
                break
            count = left
            subnet = option.spec.get("SubnetId")
            if subnet:
                free = addresses.setdefault(subnet, self.backend.get_subnet(subnet).available_ip_address_count)
                count = min(count, free)
                if count < left:
                    text = f"There are not enough free addresses in subnet '{subnet}' to satisfy the request."
                    self._refuse_option(option, Refusal("InsufficientFreeAddressesInSubnet", text))
            row = self.market.row(option.instance_type, option.zone, self.capacity_type)
            if row is not None:
                there = stock.get(id(row), row.available)
                if there < count:
                    self._refuse_option(option, out_of(row, option))
                count = min(count, there)
                stock[id(row)] = there - count
            if count > 0:
                takes.append((option, count))
                left -= count
                if subnet:
                    addresses[subnet] -= count
        return takes

    def _refuse_option(self, option, refusal):
        self._refuse(option.template, option.override, refusal)

    def _refuse(self, template, override, refusal):
        self.errors.append(
            {
                "LaunchTemplateAndOverrides": {"LaunchTemplateSpecification": template, "Overrides": override},
                "Lifecycle": self.capacity_type,
                "ErrorCode": refusal.code,
                "ErrorMessage": refusal.message,
            }
        )

    def _run(self, option, count):
        spec = option.spec
        profile = spec.get("IamInstanceProfile") or {}
        reservation = self.backend.run_instances(
            image_id=spec["ImageId"],
            count=count,
            user_data=spec.get("UserData"),
            security_group_names=[],
            security_group_ids=security_groups(spec),
            instance_type=option.instance_type,
            is_instance_type_default=False,
            subnet_id=spec.get("SubnetId"),
            key_name=spec.get("KeyName"),
            placement=None if spec.get("SubnetId") else option.zone,
            region_name=self.backend.region_name,
            tags=self._tags(option),
            lifecycle="spot" if self.capacity_type == "spot" else None,
            metadata_options=spec.get("MetadataOptions") or {},
            **devices(spec),
        )
        for instance in reservation.instances:
            if profile:
                self.backend.associate_iam_instance_profile(
                    instance.id,
                    iam_instance_profile_name=profile.get("Name"),
                    iam_instance_profile_arn=profile.get("Arn"),
                )
        return [instance.id for instance in reservation.instances]

    def _tags(self, option):
        """Tags by resource type: the request's over the launch template's, and EC2's own."""
        template = convert_tag_spec(option.spec.get("TagSpecifications") or [])
        request = convert_tag_spec(self.request.get("TagSpecifications") or [])
        tags = {kind: {**template.get(kind, {}), **request.get(kind, {})} for kind in ("instance", "volume")}
        tags["instance"]["aws:ec2:fleet-id"] = self.id
        tags["instance"]["aws:ec2launchtemplate:id"] = option.template["LaunchTemplateId"]
        tags["instance"]["aws:ec2launchtemplate:version"] = option.template["Version"]
        return tags


def out_of(row, option):
    """What EC2 says when an offering is sold out."""
    text = (
        f"We currently do not have sufficient {option.instance_type} capacity in the Availability Zone you "
        f"requested ({option.zone}). Our system will be working on provisioning additional capacity."
    )
    return Refusal(row.error, row.message or text)


def security_groups(spec):
    """Of the template itself or of its first network interface: EC2 takes them in either place."""
    interfaces = spec.get("NetworkInterfaces") or []
    return [*(spec.get("SecurityGroupIds") or []), *(interfaces[0].get("Groups") or [] if interfaces else [])]


def devices(spec):
    """The template's block devices; without any, moto makes the image's."""
    mappings = [mapping for mapping in spec.get("BlockDeviceMappings") or [] if mapping.get("Ebs")]
    return {"block_device_mappings": mappings} if mappings else {}


def install(market):
    """Puts the operation in place of moto's. Returns the answers kept by client token, to be cleared on reset."""
    answers = {}
    original = Fleets.create_fleet

    def create_fleet(self):
        if (self._get_param("Type") or "maintain") != "instant":
            return original(self)
        self.error_on_dryrun()
        request = {key: value for key, value in self.params.items() if key not in ("ClientToken", "DryRun")}
        token = self._get_param("ClientToken")
        if token and len(token) > 64:
            raise EC2ClientError("InvalidParameterValue", "Client token exceeds the maximum length of 64 characters")
        key = (self.current_account, self.region, token)
        written = json.dumps(request, sort_keys=True, default=str)
        with market.lock:
            if token and key in answers:
                before, answer = answers[key]
                if before != written:
                    text = "The client token was used before with other parameters."
                    raise EC2ClientError("IdempotentParameterMismatch", text)
                return ActionResult(answer)
            fleet = InstantFleet(request, self.ec2_backend, market, self.current_account, self.partition)
            answer = fleet.launch()
            if token:
                answers[key] = (written, answer)
        return ActionResult(answer)

    Fleets.create_fleet = create_fleet
    return answers
