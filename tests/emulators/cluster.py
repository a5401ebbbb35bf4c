"""What EKS knows of a cluster and who may log in to it.

Stands for: `eks:DescribeCluster`, whose endpoint and CA no emulator lets a test set, and the authenticator webhook of
an EKS control plane, with the `sts:GetCallerIdentity` that it calls.

A token of EKS is a presigned STS request. As the authenticator does, this one reads it, holds it to the same rules
(host, parameters, age, the signed header that names the cluster), and where AWS's would send it to STS it checks the
signature itself, with the secret keys that the test made. So a token that is accepted here is one that AWS accepts.

How it differs: identities are a table from access key to user name, in place of access entries; there are no roles.
"""

import base64
import hashlib
import hmac
import re
import threading
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

PREFIX = "k8s-aws-v1."
STS_HOST = re.compile(r"^sts(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?$")
PARAMETERS = {
    "action",
    "version",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-signedheaders",
    "x-amz-user-agent",
}


class Refused(Exception):
    """Why a token is not accepted."""


class Clusters:
    """Clusters by name, identities by access key."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clusters = {}
        self.identities = {}
        self.refusals = []

    def put(self, name, cluster):
        """Makes a cluster known; what is not given is as EKS would fill it."""
        with self.lock:
            self.clusters[name] = {
                "name": name,
                "arn": f"arn:aws:eks:us-east-1:123456789012:cluster/{name}",
                "status": "ACTIVE",
                "platformVersion": "eks.1",
                "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16", "ipFamily": "ipv4"},
                "accessConfig": {"authenticationMode": "API"},
                "tags": {},
                **cluster,
            }

    def describe(self, name):
        """The answer of DescribeCluster: status and body."""
        with self.lock:
            cluster = self.clusters.get(name)
        if cluster is None:
            text = f"No cluster found for name: {name}."
            return 404, {"__type": "ResourceNotFoundException", "message": text}
        return 200, {"cluster": cluster}

    def put_identities(self, identities):
        """Sets who an access key is: `{key: {"secret", "token", "username", "groups", "cluster"}}`."""
        with self.lock:
            self.identities.update(identities)

    def review(self, review, now=None):
        """Answers a TokenReview, as the API server asks it."""
        token = review.get("spec", {}).get("token", "")
        try:
            identity = self._identity(token, now or datetime.now(UTC))
        except Refused as refused:
            self.refusals.append(str(refused))
            status = {"authenticated": False, "error": str(refused)}
        else:
            user = {"username": identity["username"], "groups": identity.get("groups", [])}
            status = {"authenticated": True, "user": user}
        return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}

    def _identity(self, token, now):
        if not token.startswith(PREFIX):
            raise Refused("not a token of EKS")
        try:
            encoded = token[len(PREFIX) :]
            url = urlsplit(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode())
        except ValueError as error:
            raise Refused("the token is not base64 of a URL") from error
        if url.scheme != "https" or not STS_HOST.match(url.netloc) or url.path != "/":
            raise Refused(f"not a URL of STS: {url.scheme}://{url.netloc}{url.path}")
        pairs = parse_qsl(url.query, keep_blank_values=True)
        query = {name.lower(): value for name, value in pairs}
        if unknown := query.keys() - PARAMETERS:
            raise Refused(f"unexpected parameters {sorted(unknown)}")
        if query.get("action") != "GetCallerIdentity":
            raise Refused("the URL is not for GetCallerIdentity")
        if "x-k8s-aws-id" not in query.get("x-amz-signedheaders", "").split(";"):
            raise Refused("the header x-k8s-aws-id is not signed")
        try:
            signed_at = datetime.strptime(query["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            lifetime = int(query["x-amz-expires"])
            key, day, region, service, _ = query["x-amz-credential"].split("/")
            signature = query["x-amz-signature"]
        except (KeyError, ValueError) as error:
            raise Refused(f"a parameter is missing or malformed: {error}") from error
        if not 0 < lifetime <= 900:
            raise Refused(f"X-Amz-Expires is {lifetime}")
        # Both the authenticator and STS take the request for 15 minutes, whatever X-Amz-Expires says.
        if not signed_at - timedelta(minutes=5) <= now < signed_at + timedelta(minutes=15):
            raise Refused(f"signed at {signed_at}")
        with self.lock:
            identity = self.identities.get(key)
        if identity is None:
            raise Refused(f"nobody has the access key {key}")
        if query.get("x-amz-security-token") != identity.get("token"):
            raise Refused(f"the session token is not the one of {key}")
        headers = {"host": url.netloc, "x-k8s-aws-id": identity["cluster"]}
        wanted = presigned(pairs, headers, identity["secret"], (day, region, service))
        if not hmac.compare_digest(wanted, signature):
            raise Refused(f"the signature does not match for cluster {identity['cluster']}")
        return identity


def presigned(pairs, headers, secret, scope):
    """The signature (version 4) of a presigned GET of `/` without body."""
    query = {name: value for name, value in pairs if name != "X-Amz-Signature"}
    names = query["X-Amz-SignedHeaders"].split(";")
    if not set(names) <= headers.keys():
        raise Refused(f"signed headers {names}, can be judged {sorted(headers)}")
    encoded = "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items())
    )
    lines = [f"{name}:{headers[name]}\n" for name in names]
    empty = hashlib.sha256(b"").hexdigest()
    canonical = "\n".join(["GET", "/", encoded, "".join(lines), ";".join(names), empty])
    day, region, service = scope
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            query["X-Amz-Date"],
            f"{day}/{region}/{service}/aws4_request",
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    derived = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request", text):
        derived = hmac.new(derived, part.encode(), hashlib.sha256).digest()
    return derived.hex()
