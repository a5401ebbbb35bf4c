"""Functions in the emulator's Lambda: the zips that are shipped, woken as in AWS.

Stands for: what `infra/` makes. The zips run as processes of this machine, so they must be built for it.
"""

import json
import threading
import zipfile
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


def journeyman(folder, bench):
    """Journeyman's five functions as a deployment wires them.

    Zips are `NAME/bootstrap.zip`, as `cargo lambda build --output-format zip` leaves them; programs that are plainly
    there as `NAME` are packed.
    """
    folder, cluster = Path(folder), {"cluster": bench.cluster}
    functions = [
        Function("provision", packed(folder, "provision", bench.folder), {"wake": 1}, timeout=80, memory=512),
        Function("lifecycle", packed(folder, "lifecycle", bench.folder), {"lifecycle": 10}),
        Function("interruption", packed(folder, "interruption", bench.folder), {"interruption": 10}),
        Function("disruption", packed(folder, "disruption", bench.folder), memory=512),
        Function("catalog", packed(folder, "catalog", bench.folder), memory=512, timeout=300),
    ]
    functions[3].schedules = {"rate(1 minute)": cluster}
    functions[4].schedules = {"rate(1 hour)": cluster}
    return functions


def packed(folder, name, to):
    """The zip of a function; it is made of the program, once, where there is none."""
    ready = folder / name / "bootstrap.zip"
    if ready.exists():
        return ready
    path = to / f"{name}.zip"
    if path.exists():
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        entry = zipfile.ZipInfo("bootstrap")
        entry.external_attr = 0o755 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, (folder / name).read_bytes())
    return path


class Functions:
    """Makes functions and takes them away again."""

    def __init__(self, bench):
        self.bench = bench
        self.cloud = bench.cloud
        self.made = []
        self.mappings = []
        self.scheduled = []
        self.rules = []
        self.stopped = threading.Event()

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

    def deploy_journeyman(self, folder):
        """Deploys Journeyman, with the schedules that look at everything each minute."""
        arns = {function.name: self.deploy(function) for function in journeyman(folder, self.bench)}
        self.listen("journeyman-refresh", "journeyman.refresh", arns["catalog"])
        lifecycle = self.cloud.arn(self.cloud.account.queues["lifecycle"])
        self.schedule("lifecycle-minute", "rate(1 minute)", lifecycle, {"cluster": self.bench.cluster})
        self.stopped = threading.Event()
        threading.Thread(target=self._wake_each_minute, args=(self.stopped,), daemon=True).start()

    def _wake_each_minute(self, stopped):
        """Stands for a schedule: the emulator's doesn't put the time into the message, by which a FIFO queue tells one
        minute's from the last one's."""
        while not stopped.wait(60):
            self.bench.wake()

    def schedule(self, name, expression, target, given):
        """Lets the Scheduler send an input to a function or a queue, by ARN."""
        self.cloud.scheduler.create_schedule(
            Name=name,
            ScheduleExpression=expression,
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": target, "RoleArn": self.cloud.account.function_role, "Input": json.dumps(given)},
        )
        self.scheduled.append(name)

    def listen(self, name, kind, target):
        """Lets a domain event of ours wake a function, by ARN: it is handed the event's detail."""
        pattern = {"source": ["journeyman"], "detail-type": [kind]}
        rule = self.cloud.events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        self.cloud.functions.add_permission(
            FunctionName=target,
            StatementId=name,
            Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
            SourceArn=rule["RuleArn"],
        )
        self.cloud.events.put_targets(Rule=name, Targets=[{"Id": "function", "Arn": target, "InputPath": "$.detail"}])
        self.rules.append(name)

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
        self.stopped.set()
        for mapping in self.mappings:
            self.cloud.functions.delete_event_source_mapping(UUID=mapping)
        for name in self.scheduled:
            self.cloud.scheduler.delete_schedule(Name=name)
        for name in self.rules:
            self.cloud.events.remove_targets(Rule=name, Ids=["function"])
            self.cloud.events.delete_rule(Name=name)
        for name in self.made:
            self.cloud.functions.delete_function(FunctionName=name)
        self.made, self.mappings, self.scheduled, self.rules = [], [], [], []

    def _variables(self, function):
        """The function's environment. Lambda sets the credentials by itself, so they go another way."""
        variables = {**self.bench.environment(function.name), **function.environment}
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        variables["BENCH_CREDENTIALS"] = ":".join(variables.pop(name) for name in names)
        return variables

    def _state(self, name):
        return self.cloud.functions.get_function_configuration(FunctionName=name)["State"]
