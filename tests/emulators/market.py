"""What AWS sells and for how much: prices, Spot price history, the Price List API and what capacity is left.

Stands for: EC2's stock and its prices, `ec2:DescribeSpotPriceHistory`, `pricing:GetProducts`.

How it differs from AWS: types, sizes and the zones they are sold in are moto's copies of AWS's own answers; the
prices are made up. They follow one formula (vCPUs, memory, accelerators; cheaper on arm64 and on Spot, a little
dearer from zone to zone), so that they are the same in each run and in a sensible order, and any can be set.
Capacity is unlimited unless a row of the stock table says otherwise; nobody else takes from it.
"""

import json
import math
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

#: Part of the on-demand price that a Spot instance costs, by the last letter of the zone's name.
SPOT_SHARE = {"a": 0.36, "b": 0.34, "c": 0.38}


@dataclass
class Stock:
    """A row of the stock table: what is left of the offerings it matches, and how a refusal reads."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"
    available: int = 0
    error: str = "InsufficientInstanceCapacity"
    message: str = ""

    def matches(self, instance_type, zone, capacity_type):
        """Whether the row speaks of the offering."""
        wanted = (self.instance_type, self.zone, self.capacity_type)
        return all(w in ("*", given) for w, given in zip(wanted, (instance_type, zone, capacity_type)))


class Market:
    """Prices and stock. One lock, for a fleet must see and take capacity as one step."""

    def __init__(self):
        self.lock = threading.RLock()
        self.reset()

    def reset(self):
        """As at the start: unlimited capacity at the formula's prices."""
        with self.lock:
            self.rows = []
            self.prices = {}

    def set_stock(self, rows):
        """Replaces the stock table. Of the rows that match an offering the first counts."""
        with self.lock:
            self.rows = [Stock(**row) for row in rows]

    def set_prices(self, rows):
        """Sets prices: `{"instance_type", "zone" (Spot only), "usd_per_hour"}`."""
        with self.lock:
            for row in rows:
                self.prices[row["instance_type"], row.get("zone")] = float(row["usd_per_hour"])

    def row(self, instance_type, zone, capacity_type):
        """The stock row that counts for an offering, or None where capacity is unlimited."""
        return next((row for row in self.rows if row.matches(instance_type, zone, capacity_type)), None)

    def on_demand(self, instance_type):
        """Dollars an hour on demand."""
        set_price = self.prices.get((instance_type, None))
        return set_price if set_price is not None else formula(INSTANCE_TYPES[instance_type])

    def spot(self, instance_type, zone):
        """Dollars an hour on Spot in a zone."""
        set_price = self.prices.get((instance_type, zone))
        if set_price is not None:
            return set_price
        return round(self.on_demand(instance_type) * SPOT_SHARE.get(zone[-1:], 0.4), 6)

    def price(self, instance_type, zone, capacity_type):
        """Dollars an hour of an offering."""
        if capacity_type == "spot":
            return self.spot(instance_type, zone)
        return self.on_demand(instance_type)

    def spot_history(self, region, types=(), zones=(), products=(), now=None):
        """Rows of DescribeSpotPriceHistory: the price in force, one for each type, zone and product."""
        since = (now or datetime.now(UTC)) - timedelta(hours=1)
        rows = []
        for offering in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, []):
            name, zone = offering["InstanceType"], offering["Location"]
            if types and name not in types or zones and zone not in zones:
                continue
            if "spot" not in INSTANCE_TYPES.get(name, {}).get("SupportedUsageClasses", []):
                continue
            for product in products or ("Linux/UNIX",):
                if product not in ("Linux/UNIX", "Linux/UNIX (Amazon VPC)"):
                    continue
                rows.append(
                    {
                        "InstanceType": name,
                        "AvailabilityZone": zone,
                        "ProductDescription": "Linux/UNIX",
                        "SpotPrice": f"{self.spot(name, zone):.6f}",
                        "Timestamp": since,
                    }
                )
        return rows

    def products(self, filters, max_results=100, token=None):
        """The answer of GetProducts: AWS's shape, cut to what a price reader needs."""
        region = next((f["Value"] for f in filters if f["Field"].lower() == "regioncode"), "us-east-1")
        currency = "CNY" if region.startswith("cn-") else "USD"
        sold = {offering["InstanceType"] for offering in INSTANCE_TYPE_OFFERINGS["region"].get(region, [])}
        found = []
        for name in sorted(sold & INSTANCE_TYPES.keys()):
            for product in self._products_of(name, region, currency):
                if all(field_of(product, f["Field"]) == f["Value"] for f in filters):
                    found.append(json.dumps(product))
        start = int(token or 0)
        page = found[start : start + max_results]
        answer = {"FormatVersion": "aws_v1", "PriceList": page}
        if start + max_results < len(found):
            answer["NextToken"] = str(start + max_results)
        return answer

    def _products_of(self, name, region, currency):
        info = INSTANCE_TYPES[name]
        metal = info.get("BareMetal", False)
        hourly = self.on_demand(name)
        for tenancy, factor in (("Shared", 1.0), ("Dedicated", 1.06)):
            # AWS sells whole machines as dedicated, at the plain price.
            if metal and tenancy == "Shared":
                continue
            sku = f"{name}-{tenancy}".upper()
            term = f"{sku}.JRTCKXETXF"
            price = hourly if metal else hourly * factor
            yield {
                "product": {
                    "productFamily": "Compute Instance (bare metal)" if metal else "Compute Instance",
                    "sku": sku,
                    "attributes": {
                        "servicecode": "AmazonEC2",
                        "regionCode": region,
                        "instanceType": name,
                        "operatingSystem": "Linux",
                        "preInstalledSw": "NA",
                        "capacitystatus": "Used",
                        "marketoption": "OnDemand",
                        "tenancy": tenancy,
                        "licenseModel": "No License required",
                        "vcpu": str(info["VCpuInfo"]["DefaultVCpus"]),
                    },
                },
                "serviceCode": "AmazonEC2",
                "terms": {
                    "OnDemand": {
                        term: {
                            "sku": sku,
                            "offerTermCode": "JRTCKXETXF",
                            "effectiveDate": "2026-01-01T00:00:00Z",
                            "termAttributes": {},
                            "priceDimensions": {
                                f"{term}.6YS6EN2CT7": {
                                    "unit": "Hrs",
                                    "beginRange": "0",
                                    "endRange": "Inf",
                                    "rateCode": f"{term}.6YS6EN2CT7",
                                    "description": f"{price:.6f} per On Demand Linux {name} Instance Hour",
                                    "appliesTo": [],
                                    "pricePerUnit": {currency: f"{price:.10f}"},
                                }
                            },
                        }
                    }
                },
                "version": "20260101000000",
                "publicationDate": "2026-01-01T00:00:00Z",
            }


def field_of(product, field):
    """The value that a filter of GetProducts compares with. Field names don't mind case."""
    if field.lower() == "productfamily":
        return product["product"]["productFamily"]
    attributes = {key.lower(): value for key, value in product["product"]["attributes"].items()}
    return attributes.get(field.lower())


def formula(info):
    """Dollars an hour on demand, made up: the same in each run, dearer with size, cheaper on arm64."""
    vcpus = info["VCpuInfo"]["DefaultVCpus"]
    gib = info["MemoryInfo"]["SizeInMiB"] / 1024
    accelerators = sum(gpu["Count"] for gpu in info.get("GpuInfo", {}).get("Gpus", []))
    price = 0.034 * vcpus + 0.0035 * gib + 1.1 * accelerators
    if "arm64" in info["ProcessorInfo"]["SupportedArchitectures"]:
        price *= 0.8
    # Older and burstable families at another price per core, so that equal sizes don't tie.
    family = info["InstanceType"].split(".")[0]
    price *= 1 + 0.001 * (sum(map(ord, family)) % 40)
    return math.ceil(price * 10_000) / 10_000
