#!/usr/bin/env python3
"""A function for trials: speaks Lambda's Runtime API and answers with what it was given and what it was told."""

import json
import os
import urllib.request

API = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"


def main():
    """Takes one event after the other."""
    while True:
        with urllib.request.urlopen(f"{API}/next") as response:
            number = response.headers["Lambda-Runtime-Aws-Request-Id"]
            event = json.load(response)
        print(json.dumps(event), flush=True)
        told = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "JOURNEYMAN_"))}
        answer = {"event": event, "environment": told, "batchItemFailures": []}
        request = urllib.request.Request(f"{API}/{number}/response", json.dumps(answer).encode(), method="POST")
        urllib.request.urlopen(request).close()


main()
