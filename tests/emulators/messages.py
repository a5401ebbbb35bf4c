"""An emulator of SQS, EventBridge, Scheduler, Lambda, S3, DynamoDB, STS and CloudWatch on 127.0.0.1: ministack, which
lets a test publish what AWS publishes. `python messages.py PORT`.

Stands for: all that wakes Journeyman's functions, runs them and keeps what they keep.

How it differs: AWS refuses events whose source begins with `aws.` to customers; a test plays AWS, so here they are
accepted. The signature is not checked, there is no IAM. A function gets the credentials that its variable
BENCH_CREDENTIALS names (`KEY:SECRET:TOKEN`), in place of those of a session of its role.
"""

import os
import sys


def main():
    """Serves until it is killed."""
    # By default it listens on all interfaces.
    os.environ["BIND_HOST"] = "127.0.0.1"
    os.environ["GATEWAY_PORT"] = sys.argv[1]
    sys.argv = ["ministack"]

    import ministack.services.eventbridge as events

    put_events = events._put_events

    def put(data, *arguments, **named):
        named["allow_aws_source"] = True
        return put_events(data, *arguments, **named)

    events._put_events = put

    import ministack.services.lambda_svc as functions

    worker_environment = functions._provided_worker_env

    def environment(*arguments):
        variables = worker_environment(*arguments)
        if credentials := variables.pop("BENCH_CREDENTIALS", None):
            names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
            variables.update(zip(names, credentials.split(":")))
        return variables

    functions._provided_worker_env = environment

    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
