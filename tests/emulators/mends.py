"""Where moto answers more simply than AWS, mended: small differences that Journeyman would notice.

- RegisterImage keeps architecture, root device and tags.
- Lists of types, offerings and Spot prices come in pages.
- Instances can be filtered by lifecycle, and by several tag keys of which all must be there.
- Placements name their zone's id.
- Instance profiles are listed by path.
"""

import moto.ec2.utils
from moto.core.responses import ActionResult
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from moto.ec2.models.instances import InstancePlacement
from moto.ec2.responses.amis import AmisResponse
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.spot_instances import SpotInstances
from moto.iam.responses import IamResponse

#: Lists that come in pages: operation, field, and how many AWS gives unasked.
PAGED = (
    ("describe_instance_types", "InstanceTypes", 100),
    ("describe_instance_type_offerings", "InstanceTypeOfferings", 1000),
)


def mend(market):
    """Puts the operations in place of moto's."""
    moto.ec2.utils.filter_dict_attribute_mapping["instance-lifecycle"] = "lifecycle"
    zones = {zone.name: zone.zone_id for zones in RegionsAndZonesBackend.zones.values() for zone in zones}
    InstancePlacement.availability_zone_id = property(lambda placement: zones.get(placement.zone))
    for operation, field, size in PAGED:
        setattr(InstanceResponse, operation, pages_of(getattr(InstanceResponse, operation), field, size))
    AmisResponse.register_image = registered(AmisResponse.register_image)
    InstanceResponse.describe_instances = narrowed(InstanceResponse.describe_instances)
    IamResponse.list_instance_profiles = below_path(IamResponse.list_instance_profiles)
    SpotInstances.describe_spot_price_history = lambda self: spot_price_history(self, market)


def registered(original):
    """RegisterImage that keeps what it is given."""

    def register_image(self):
        answer = original(self)
        image = self.ec2_backend.amis[answer.result["ImageId"]]
        image.architecture = self._get_param("Architecture") or "x86_64"
        image.root_device_name = self._get_param("RootDeviceName") or image.root_device_name
        image.virtualization_type = self._get_param("VirtualizationType") or "hvm"
        for spec in self._get_param("TagSpecifications", []):
            if spec["ResourceType"] == "image":
                image.add_tags({tag["Key"]: tag["Value"] for tag in spec["Tags"]})
        return answer

    return register_image


def narrowed(original):
    """DescribeInstances where each `tag-key` filter must hold: moto keeps only the last of them."""

    def describe_instances(self):
        answer = original(self)
        wanted = [f.get("Values", []) for f in self._get_param("Filters", []) if f["Name"] == "tag-key"]
        for reservation in answer.result["Reservations"] if len(wanted) > 1 else []:
            reservation.instances = [
                instance
                for instance in reservation.instances
                if all({tag["key"] for tag in instance.get_tags()} & set(keys) for keys in wanted)
            ]
        return answer

    return describe_instances


def below_path(original):
    """ListInstanceProfiles that minds PathPrefix."""

    def list_instance_profiles(self):
        prefix = self._get_param("PathPrefix") or "/"
        profiles = original(self).result["InstanceProfiles"]
        return ActionResult({"InstanceProfiles": [p for p in profiles if (p.path or "/").startswith(prefix)]})

    return list_instance_profiles


def spot_price_history(response, market):
    """DescribeSpotPriceHistory at the market's prices."""
    filters = response._filters_from_querystring()
    zone = response._get_param("AvailabilityZone")
    rows = market.spot_history(
        response.region,
        response._get_param("InstanceTypes", []) or filters.get("instance-type", []),
        [zone] if zone else filters.get("availability-zone", []),
        response._get_param("ProductDescriptions", []) or filters.get("product-description", []),
    )
    return paged(response, {"SpotPriceHistory": rows}, "SpotPriceHistory", 1000)


def pages_of(original, field, size):
    """The operation, its list in pages."""
    return lambda self: paged(self, original(self).result, field, size)


def paged(response, result, field, size):
    """One page of the list, of MaxResults entries or of what AWS gives unasked."""
    start = int(response._get_param("NextToken") or 0)
    end = start + int(response._get_param("MaxResults") or size)
    rows = result[field]
    return ActionResult({field: rows[start:end], "NextToken": str(end) if end < len(rows) else None})
