"""The API server over plain HTTP: objects are what the server sends, as dictionaries."""

import time
from collections import Counter

import requests
import yaml


class ApiError(Exception):
    """An answer that is not a success."""

    def __init__(self, response):
        try:
            message = response.json().get("message", response.text)
        except ValueError:
            message = response.text
        super().__init__(f"{response.request.method} {response.request.path_url}: {response.status_code} {message}")
        self.status = response.status_code


class Kube:
    """A user's view of the API server, from a kubeconfig."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        cluster = config["clusters"][0]["cluster"]
        self.endpoint = cluster["server"]
        self.session = requests.Session()
        # Else a bundle of authorities named by the environment would take the place of the cluster's.
        self.session.trust_env = False
        self.session.verify = cluster["certificate-authority"]
        self.session.headers["Authorization"] = f"Bearer {config['users'][0]['user']['token']}"
        self._resources = {}

    def request(self, method, path, **named):
        """A request; the body of the answer. Refusals are raised."""
        response = self.session.request(method, self.endpoint + path, timeout=30, **named)
        if not response.ok:
            raise ApiError(response)
        return response.json()

    def get(self, kind, name, namespace="default"):
        """An object, or None where there is none."""
        try:
            return self.request("GET", self._path(kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind, namespace=None, labels=None, fields=None):
        """The objects of a kind, of all namespaces unless one is given."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        answer = self.request("GET", self._path(kind, namespace), params={k: v for k, v in query.items() if v})
        return [{"kind": kind, **item} for item in answer["items"]]

    def apply(self, *objects):
        """Server-side apply, as `kubectl apply --server-side --force-conflicts`."""
        return [self._apply(item) for item in objects]

    def apply_text(self, text):
        """Applies the YAML documents of a text."""
        return self.apply(*(document for document in yaml.safe_load_all(text) if document))

    def create(self, item, namespace="default"):
        """Creates an object."""
        namespace = item["metadata"].get("namespace", namespace)
        return self.request("POST", self._path(item["kind"], namespace), json=item)

    def patch(self, kind, name, change, namespace="default", subresource=None):
        """Merges a change into an object."""
        path = self._path(kind, namespace, name) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, json=change, headers={"Content-Type": "application/merge-patch+json"})

    def delete(self, kind, name, namespace="default", grace=None):
        """Deletes an object; one that is gone is fine."""
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        try:
            self.request("DELETE", self._path(kind, namespace, name), json=body)
        except ApiError as error:
            if error.status != 404:
                raise

    def release(self, kind, name, namespace="default"):
        """Takes an object's finalizers off, so that its deletion can end; one that is gone is fine."""
        try:
            self.patch(kind, name, {"metadata": {"finalizers": None}}, namespace)
        except ApiError as error:
            if error.status != 404:
                raise

    def delete_all(self, kind, namespace=None, labels=None, grace=None):
        """Deletes all objects of a kind."""
        for item in self.list(kind, namespace, labels):
            self.delete(kind, item["metadata"]["name"], item["metadata"].get("namespace"), grace)

    def scale(self, deployment, replicas, namespace="default"):
        """Sets a Deployment's replicas, as an autoscaler does."""
        self.patch("Deployment", deployment, {"spec": {"replicas": replicas}}, namespace, "scale")

    def pods(self, phase=None, labels=None):
        """Pods of the default namespace, of one phase where one is given."""
        pods = self.list("Pod", "default", labels)
        return [pod for pod in pods if phase in (None, pod["status"].get("phase"))]

    def summary(self):
        """A few lines about what there is, for failures."""
        pods = Counter(pod["status"].get("phase") for pod in self.list("Pod"))
        lines = [f"pods: {dict(pods)}"]
        for kind in ("Node", "NodeClaim", "NodePool", "EC2NodeClass"):
            try:
                lines += [f"{kind} {item['metadata']['name']}: {conditions(item)}" for item in self.list(kind)]
            except KeyError:
                lines.append(f"{kind}: not known to the server")
        events = sorted(self.list("Event"), key=lambda event: event["metadata"]["creationTimestamp"])
        for event in events[-10:]:
            lines.append(f"{event['reason']} {event['involvedObject'].get('name')}: {event['message'][:160]}")
        return "\n".join(lines)

    def _apply(self, item):
        metadata = item["metadata"]
        path = self._path(item["kind"], metadata.get("namespace", "default"), metadata["name"])
        return self.request(
            "PATCH",
            path,
            params={"fieldManager": "bench", "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            data=yaml.safe_dump(item),
        )

    def _path(self, kind, namespace=None, name=None):
        base, plural, namespaced = self._resource(kind)
        parts = [base, *(["namespaces", namespace] if namespaced and namespace else []), plural]
        return "/".join([*parts, *([name] if name else [])])

    def _resource(self, kind):
        if kind not in self._resources:
            self._discover()
        return self._resources[kind]

    def _discover(self):
        wanted = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
        for root in ("/api", "/apis"):
            for group in self.request("GET", root, headers=wanted)["items"]:
                version = group["versions"][0]
                name = group["metadata"].get("name")
                base = f"/apis/{name}/{version['version']}" if name else f"/api/{version['version']}"
                for resource in version.get("resources", []):
                    kind = resource["responseKind"]["kind"]
                    # Of two groups with the same kind the first counts: Event is the core's.
                    self._resources.setdefault(kind, (base, resource["resource"], resource["scope"] == "Namespaced"))


def conditions(item):
    """An object's conditions in one line."""
    status = item.get("status", {}).get("conditions", [])
    return " ".join(f"{condition['type']}={condition['status']}" for condition in status) or "no conditions"


def condition(item, kind):
    """The status of a condition: "True", "False", "Unknown" or None."""
    status = (item or {}).get("status", {}).get("conditions", [])
    return next((found["status"] for found in status if found["type"] == kind), None)


def until(condition_, within=60, every=0.1, explain=None):
    """Waits until `condition_()` is truthy and returns its value; raises AssertionError with `explain()` otherwise."""
    deadline = time.monotonic() + within
    while True:
        value = condition_()
        if value:
            return value
        if time.monotonic() > deadline:
            told = f"\n{explain()}" if explain else ""
            raise AssertionError(f"not within {within} s, last seen: {value!r}{told}")
        time.sleep(every)
