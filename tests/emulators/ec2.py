"""An emulator of EC2, IAM, SSM, EKS and Pricing on 127.0.0.1: moto, with what it lacks. `python ec2.py PORT`.

Stands for: what Journeyman asks AWS about instances. moto answers most; here are the operations that it lacks or
answers too simply, each stated in its module: `fleet.py`, `market.py`, `images.py`, `cluster.py`, `machines.py`,
`faults.py`, and the small ones in `mends.py`. An account has no capacity reservations and no placement groups, and says
so instead of failing, as moto does.

Signatures are not checked (but for tokens of EKS). There is one account whatever the key.

The bench's own requests, JSON in and out, below `/_bench/`:

| | |
|---|---|
| `PUT stock`, `PUT prices` | rows of `market.py` |
| `PUT faults`, `GET calls` | `faults.py` |
| `PUT parameters`, `GET parameters` | `images.py` |
| `PUT clusters/NAME`, `PUT identities`, `POST authenticate`, `GET refusals` | `cluster.py` |
| `GET instances`, `PUT machines`, `PUT status/ID` | `machines.py`: what runs, seconds in each state, failing hosts |
| `POST reset` | everything as at the start, instances and launch templates gone; network, roles and images stay |
"""

import io
import json
import os
import socket
import sys
import tempfile
import time
import traceback

from images import Images, is_own

# moto reads the list of images once, when it is imported; its own is 1,300 images that no test wants.
IMAGES = Images()
os.environ["MOTO_AMIS_PATH"] = os.path.join(tempfile.mkdtemp(prefix="journeyman-images-"), "amis.json")
IMAGES.write(os.environ["MOTO_AMIS_PATH"])

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

import fleet  # noqa: E402
from cluster import Clusters  # noqa: E402
from faults import Call, Faults  # noqa: E402
from machines import Machines  # noqa: E402
from market import Market  # noqa: E402
from mends import mend  # noqa: E402

MARKET, CLUSTERS, FAULTS, MACHINES = Market(), Clusters(), Faults(), Machines()

#: EC2 operations whose empty answer is right for an account that has none of them.
EMPTY = {
    "DescribeCapacityReservations": "capacityReservationSet",
    "DescribePlacementGroups": "placementGroupSet",
}


class Front:
    """Stands before moto: the bench's requests, faults, and the services that moto lacks."""

    def __init__(self, app, fleets):
        self.app = app
        self.fleets = fleets

    def __call__(self, environ, start_response):
        began = time.time()
        call = Call(environ)
        if call.path.startswith("/_bench/"):
            return reply(start_response, *self.bench(call))
        fault = FAULTS.take(call)
        if fault is None:
            answer = self.answer(call, environ)
        elif fault["kind"] == "error":
            answer = call.error(fault.get("status", 400), fault["code"], fault.get("message", fault["code"]))
        else:
            answer = None
            if fault["kind"] != "drop-before":
                self.answer(call, environ)
            if fault["kind"] == "hang-after":
                time.sleep(fault.get("seconds", 60))
        FAULTS.record(call, 0 if answer is None else answer[0], 0 if answer is None else len(answer[2]), began)
        if answer is None:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        return reply(start_response, *answer)

    def answer(self, call, environ):
        """What AWS answers: status, content type (or headers) and body."""
        if call.service == "pricing" and call.operation == "GetProducts":
            wanted = call.parameters
            products = MARKET.products(
                wanted.get("Filters", []), wanted.get("MaxResults", 100), wanted.get("NextToken")
            )
            return 200, "application/x-amz-json-1.1", json.dumps(products)
        if call.service == "ssm" and (answer := IMAGES.answer(call.operation, call.parameters)) is not None:
            return self.with_own_parameters(call, environ, *answer)
        if call.service == "eks" and call.method == "GET" and call.path.startswith("/clusters/"):
            status, body = CLUSTERS.describe(call.path.split("/")[2])
            headers = [("content-type", "application/json")]
            if status != 200:
                headers.append(("x-amzn-errortype", body["__type"]))
            return status, headers, json.dumps(body)
        if call.service == "ec2" and call.operation in EMPTY:
            name = call.operation
            body = f'<{name}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><{EMPTY[name]}/></{name}Response>'
            return 200, "text/xml", body
        return self.moto(call, environ)

    def with_own_parameters(self, call, environ, status, public):
        """The answer about public parameters, with moto's about those of the account that were asked for with them."""
        own = [name for name in call.parameters.get("Names", []) if is_own(name)]
        if own:
            call.body = json.dumps({**call.parameters, "Names": own}).encode()
            environ["CONTENT_LENGTH"] = str(len(call.body))
            told = json.loads(self.moto(call, environ)[2])
            public = {field: public[field] + told.get(field, []) for field in public}
        return status, "application/x-amz-json-1.1", json.dumps(public)

    def moto(self, call, environ):
        """moto's answer."""
        environ["wsgi.input"] = io.BytesIO(call.body)
        seen = {}

        def start_response(status, headers, _=None):
            seen["status"], seen["headers"] = int(status.split()[0]), headers

        try:
            body = b"".join(self.app(environ, start_response))
        except Exception:
            # moto fell over, mostly for want of an operation. Not a 500, which clients would repeat.
            traceback.print_exc()
            return call.error(400, "BenchCannotAnswer", f"the emulator can't answer {call.service} {call.operation}")
        return seen["status"], seen["headers"], body

    def bench(self, call):
        """The bench's own requests."""
        verb, path = call.method, call.path.removeprefix("/_bench/")
        given = json.loads(call.body or b"null")
        found = None
        match verb, path.split("/"):
            case "PUT", ["stock"]:
                MARKET.set_stock(given)
            case "PUT", ["prices"]:
                MARKET.set_prices(given)
            case "PUT", ["faults"]:
                FAULTS.set_rows(given)
            case "GET", ["calls"]:
                found = FAULTS.log()
            case "PUT", ["parameters"]:
                IMAGES.set_parameters(given)
            case "GET", ["parameters"]:
                found = IMAGES.parameters
            case "PUT", ["clusters", name]:
                CLUSTERS.put(name, given)
            case "PUT", ["identities"]:
                CLUSTERS.put_identities(given)
            case "POST", ["authenticate"]:
                found = CLUSTERS.review(given)
            case "GET", ["refusals"]:
                found = CLUSTERS.refusals
            case "GET", ["instances"]:
                found = MACHINES.list()
            case "PUT", ["machines"]:
                MACHINES.pending_seconds = given["pending_seconds"]
                MACHINES.shutting_down_seconds = given["shutting_down_seconds"]
            case "PUT", ["status", number]:
                MACHINES.tell(number, given)
            case "POST", ["reset"]:
                MARKET.reset()
                FAULTS.reset()
                MACHINES.reset()
                MACHINES.forget()
                self.fleets.clear()
            case _:
                return 404, "application/json", json.dumps({"error": f"no {verb} {call.path}"})
        return 200, "application/json", json.dumps(found)


def reply(start_response, status, headers, body):
    """Sends an answer."""
    if isinstance(headers, str):
        headers = [("content-type", headers)]
    body = body.encode() if isinstance(body, str) else body
    headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(f"{status} -", [*headers, ("content-length", str(len(body)))])
    return [body]


class Handler(MotoRequestHandler):
    """Keeps the log for itself: the bench has its own."""

    def log_request(self, *_):
        """Says nothing."""


def main():
    """Serves until it is killed."""
    mend(MARKET)
    MACHINES.install()
    front = Front(DomainDispatcherApplication(create_backend_app), fleet.install(MARKET))
    make_server("127.0.0.1", int(sys.argv[1]), front, threaded=True, request_handler=Handler).serve_forever()


if __name__ == "__main__":
    main()
