"""Functions in the emulator's Lambda: the zips that are shipped, woken as in AWS.

Stands for: what `infra/` makes. The zips run as processes of this machine, so they must be built for it.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from .kube import until


@dataclass
class Function:
    """One function: its zip, what wakes it and how it is run."""

    name: str
    zip: Path
    #: Queues by role that it takes messages from, with the batch size.
    queues: dict = field(default_factory=dict)
    #: Scheduler expressions, with the input.
    schedules: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    memory: int = 256
    timeout: int = 60


class Functions:
    """Makes functions and takes them away again."""

    def __init__(self, bench):
        self.bench = bench
        self.cloud = bench.cloud
        self.made = []
        self.mappings = []
        self.scheduled = []

    def deploy(self, function):
        """Creates a function with its event source mappings and schedules, and waits until it is active."""
        account, clients = self.cloud.account, self.cloud
        answer = clients.functions.create_function(
            FunctionName=function.name,
            Runtime="provided.al2023",
            Architectures=["x86_64"],
            Handler="bootstrap",
            Role=account.function_role,
            Code={"ZipFile": Path(function.zip).read_bytes()},
            MemorySize=function.memory,
            Timeout=function.timeout,
            Environment={"Variables": self._variables(function)},
        )
        self.made.append(function.name)
        until(lambda: self._state(function.name) == "Active")
        for queue, size in function.queues.items():
            mapping = clients.functions.create_event_source_mapping(
                FunctionName=function.name,
                EventSourceArn=clients.arn(account.queues[queue]),
                BatchSize=size,
                FunctionResponseTypes=["ReportBatchItemFailures"],
            )
            self.mappings.append(mapping["UUID"])
        for number, (expression, given) in enumerate(function.schedules.items()):
            self.schedule(f"{function.name}-{number}", expression, answer["FunctionArn"], given)
        return answer["FunctionArn"]

    def schedule(self, name, expression, target, given, group=None):
        """Lets the Scheduler send an input to a function or, with a group if it is FIFO, to a queue, by ARN."""
        fifo = {"SqsParameters": {"MessageGroupId": group}} if group else {}
        self.cloud.scheduler.create_schedule(
            Name=name,
            ScheduleExpression=expression,
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": target, "RoleArn": self.cloud.account.function_role, "Input": json.dumps(given), **fifo},
        )
        self.scheduled.append(name)

    def invoke(self, name, event):
        """Calls a function and waits: its answer, and whether it failed."""
        answer = self.cloud.functions.invoke(FunctionName=name, Payload=json.dumps(event))
        return json.loads(answer["Payload"].read() or b"null"), answer.get("FunctionError")

    def logs(self, name):
        """The lines that a function has logged."""
        group = f"/aws/lambda/{name}"
        try:
            pages = self.cloud.logs.get_paginator("filter_log_events").paginate(logGroupName=group)
            return [event["message"].rstrip() for page in pages for event in page["events"]]
        except self.cloud.logs.exceptions.ResourceNotFoundException:
            return []

    def remove_all(self):
        """Takes away what was made."""
        for mapping in self.mappings:
            self.cloud.functions.delete_event_source_mapping(UUID=mapping)
        for name in self.scheduled:
            self.cloud.scheduler.delete_schedule(Name=name)
        for name in self.made:
            self.cloud.functions.delete_function(FunctionName=name)
        self.made, self.mappings, self.scheduled = [], [], []

    def _variables(self, function):
        """The function's environment. Lambda sets the credentials by itself, so they go another way."""
        variables = {**self.bench.environment(function.name), **function.environment}
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        variables["BENCH_CREDENTIALS"] = ":".join(variables.pop(name) for name in names)
        return variables

    def _state(self, name):
        return self.cloud.functions.get_function_configuration(FunctionName=name)["State"]
