"""Calls gone wrong, and a log of all calls.

Stands for: throttling, AWS's own failures and a network that loses the answer. What can go wrong with capacity is in
`market.py`, for there the call itself succeeds.

A fault is a row `{"service": "ec2", "operation": "CreateFleet", "kind": ..., "times": 1}`:

| kind | what the caller sees | what was done |
|---|---|---|
| error | the given `code`, `message`, `status` | nothing |
| drop-before | the connection closed without an answer | nothing |
| drop-after | the same | everything |
| hang-after | nothing for `seconds`, then the connection closed | everything |

`parameters` narrows a row to calls that have all the given values, `key` to an access key. Without `times` it stays.
"""

import json
import threading
import time
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

NO_REQUEST = "00000000-0000-0000-0000-000000000000"


class Call:
    """A request as AWS would see it: service, operation, parameters and whose key signed it."""

    def __init__(self, environ):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        self.body = environ["wsgi.input"].read(length)
        self.path = environ.get("PATH_INFO", "/")
        self.method = environ["REQUEST_METHOD"]
        self.key, self.region, self.service = scope_of(environ.get("HTTP_AUTHORIZATION", ""))
        target = environ.get("HTTP_X_AMZ_TARGET")
        if target:
            self.protocol = "json"
            self.operation = target.split(".")[-1]
            self.parameters = json.loads(self.body or b"{}")
        elif self.body and "x-www-form-urlencoded" in environ.get("CONTENT_TYPE", ""):
            self.protocol = "query"
            self.parameters = dict(parse_qsl(self.body.decode(), keep_blank_values=True))
            self.operation = self.parameters.pop("Action", "")
        else:
            self.protocol = "rest"
            self.parameters = {}
            self.operation = f"{self.method} {self.path}"

    def error(self, status, code, message):
        """An error in the form of the call's protocol: status, content type and body."""
        if self.protocol != "query":
            return status, "application/x-amz-json-1.1", json.dumps({"__type": code, "message": message})
        error = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
        if self.service == "ec2":
            body = f"<Response><Errors>{error}</Errors><RequestID>{NO_REQUEST}</RequestID></Response>"
        else:
            kind = "Sender" if status < 500 else "Receiver"
            error = error.replace("<Error>", f"<Error><Type>{kind}</Type>")
            body = f"<ErrorResponse>{error}<RequestId>{NO_REQUEST}</RequestId></ErrorResponse>"
        return status, "text/xml", body


def scope_of(authorization):
    """Access key, region and service of an Authorization header, empty where there is none."""
    if "Credential=" not in authorization:
        return "", "", ""
    parts = authorization.split("Credential=", 1)[1].split(",", 1)[0].strip().split("/")
    return (parts[0], parts[2], parts[3]) if len(parts) == 5 else ("", "", "")


class Faults:
    """The rows in force and what was called."""

    def __init__(self):
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        """No faults, an empty log."""
        with self.lock:
            self.rows = []
            self.calls = []

    def set_rows(self, rows):
        """Replaces the rows."""
        with self.lock:
            self.rows = [dict(row) for row in rows]

    def take(self, call):
        """The first row that matches a call, counted down."""
        with self.lock:
            for row in self.rows:
                if row.get("times", 1) > 0 and matches(row, call):
                    if "times" in row:
                        row["times"] -= 1
                    return row
        return None

    def record(self, call, status, size, began):
        """Adds a call to the log."""
        with self.lock:
            self.calls.append(
                {
                    "time": began,
                    "seconds": round(time.time() - began, 4),
                    "service": call.service,
                    "operation": call.operation,
                    "key": call.key,
                    "parameters": call.parameters,
                    "status": status,
                    "request_bytes": len(call.body),
                    "response_bytes": size,
                }
            )

    def log(self):
        """The log."""
        with self.lock:
            return list(self.calls)


def matches(row, call):
    """Whether a row speaks of a call."""
    return (
        row.get("service") in (None, call.service)
        and row.get("operation") in (None, call.operation)
        and row.get("key") in (None, call.key)
        and all(str(call.parameters.get(name)) == str(value) for name, value in row.get("parameters", {}).items())
    )
