"""An emulator of SQS, EventBridge, Scheduler, Lambda, S3, DynamoDB, STS and CloudWatch on 127.0.0.1: ministack, which
lets a test publish what AWS publishes. `python messages.py PORT`.

Stands for: all that wakes Journeyman's functions, runs them and keeps what they keep.

How it differs: AWS refuses events whose source begins with `aws.` to customers; a test plays AWS, so here they are
accepted. The signature is not checked, there is no IAM. Functions inherit this process's environment, so the variables
that lead AWS's SDKs to emulators are set here. BENCH_CREDENTIALS, a JSON object of FUNCTION: "KEY:SECRET:TOKEN", names
the credentials that functions get, in place of those of a session of their role.
"""

import json
import os
import sys
from datetime import datetime, timezone

#: What Scheduler puts the time in place of.
TIME = "<aws.scheduler.scheduled-time>"


def main():
    """Serves until it is killed."""
    # By default it listens on all interfaces.
    os.environ["BIND_HOST"] = "127.0.0.1"
    os.environ["GATEWAY_PORT"] = sys.argv[1]
    credentials = json.loads(os.environ.pop("BENCH_CREDENTIALS", "{}"))
    sys.argv = ["ministack"]

    import ministack.services.eventbridge as events

    put_events = events._put_events

    def put(data, *arguments, **named):
        named["allow_aws_source"] = True
        return put_events(data, *arguments, **named)

    events._put_events = put

    invoke_target = events._invoke_target

    def invoke(target, event, *arguments, **named):
        if event.get("Source") == "aws.scheduler" and TIME in target.get("Input", ""):
            time = datetime.fromtimestamp(event["Time"], tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            target = {**target, "Input": target["Input"].replace(TIME, time)}
        return invoke_target(target, event, *arguments, **named)

    events._invoke_target = invoke

    import ministack.services.lambda_svc as functions

    worker_environment = functions._provided_worker_env

    def environment(config, *arguments):
        variables = worker_environment(config, *arguments)
        if known := credentials.get(config.get("FunctionName")):
            names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
            variables.update(zip(names, known.split(":")))
        return variables

    functions._provided_worker_env = environment

    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
