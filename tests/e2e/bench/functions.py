"""Functions in the emulator's Lambda. Those of Journeyman are Terraform's, with all that wakes them; a test may bring its own.

They run as processes of this machine, so the zips must be built for it.
"""

import contextlib
import json
import os
import signal
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .kube import until
from .processes import children_of

NAMES = ("provision", "lifecycle", "interruption", "disruption", "catalog")
#: What the names of what Terraform makes begin with.
DEPLOYMENT = "journeyman"
ALIAS = "live"


@dataclass
class Function:
    """A test's own function: its zip, and what wakes it."""

    name: str
    zip: Path
    #: Queues by role that it takes messages from, with the batch size.
    queues: dict = field(default_factory=dict)
    #: Scheduler expressions, with the input.
    schedules: dict = field(default_factory=dict)


def package(folder, to):
    """Makes a folder of NAME/bootstrap.zip as Terraform wants it.

    Zips are taken as `just package` leaves them; programs that are plainly there as NAME are packed. Without a folder
    they are zips that do nothing: Journeyman then runs beside them.
    """
    for name in NAMES:
        path = to / name / "bootstrap.zip"
        path.parent.mkdir(parents=True)
        ready = Path(folder or "") / name / "bootstrap.zip"
        if folder and ready.exists():
            path.symlink_to(ready.resolve())
        else:
            pack(path, (Path(folder) / name).read_bytes() if folder else b"#!/bin/sh\nexit 1\n")
    return str(to)


def pack(path, program):
    """Makes a function's zip of its program."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        entry = zipfile.ZipInfo("bootstrap")
        entry.external_attr = 0o755 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, program)


class Functions:
    """Starts and stops what Terraform made, and makes functions of a test's own."""

    def __init__(self, bench):
        self.bench = bench
        self.cloud = bench.cloud
        self.made = []
        self.mappings = []
        self.scheduled = []
        self.deployed = [
            mapping["UUID"]
            for mapping in self.cloud.functions.list_event_source_mappings()["EventSourceMappings"]
            if mapping["FunctionArn"].endswith(f":{ALIAS}")
        ]
        self._switch(False)

    def start(self):
        """Lets queues and schedules wake Journeyman's functions, as in a deployment."""
        self._switch(True)

    def deploy(self, function):
        """Creates a function of a test's own with its event source mappings and schedules, and waits until it is active."""
        account, clients = self.cloud.account, self.cloud
        answer = clients.functions.create_function(
            FunctionName=function.name,
            Runtime="provided.al2023",
            Architectures=["x86_64"],
            Handler="bootstrap",
            Role=account.function_role,
            Code={"ZipFile": Path(function.zip).read_bytes()},
            Timeout=60,
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
            name = f"{function.name}-{number}"
            self.cloud.scheduler.create_schedule(
                Name=name,
                ScheduleExpression=expression,
                FlexibleTimeWindow={"Mode": "OFF"},
                Target={"Arn": answer["FunctionArn"], "RoleArn": account.function_role, "Input": json.dumps(given)},
            )
            self.scheduled.append(name)

    def invoke(self, name, event):
        """Calls a function and waits: its answer, and whether it failed."""
        known = {"FunctionName": f"{DEPLOYMENT}-{name}", "Qualifier": ALIAS} if name in NAMES else {"FunctionName": name}
        answer = self.cloud.functions.invoke(**known, Payload=json.dumps(event))
        return json.loads(answer["Payload"].read() or b"null"), answer.get("FunctionError")

    def logs(self, name):
        """The lines that a function has logged."""
        group = f"/aws/lambda/{DEPLOYMENT}-{name}" if name in NAMES else f"/aws/lambda/{name}"
        try:
            pages = self.cloud.logs.get_paginator("filter_log_events").paginate(logGroupName=group)
            return [event["message"].rstrip() for page in pages for event in page["events"]]
        except self.cloud.logs.exceptions.ResourceNotFoundException:
            return []

    def stop(self):
        """Nothing wakes Journeyman's functions any more, all sandboxes end, and a test's own functions go."""
        self._switch(False)
        for mapping in self.mappings:
            self.cloud.functions.delete_event_source_mapping(UUID=mapping)
        for name in self.scheduled:
            self.cloud.scheduler.delete_schedule(Name=name)
        for name in self.made:
            self.cloud.functions.delete_function(FunctionName=name)
        self.made, self.mappings, self.scheduled = [], [], []
        for sandbox in children_of(self.bench.processes["messages"].pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(sandbox, signal.SIGKILL)

    def _switch(self, on):
        for mapping in self.deployed:
            self.cloud.functions.update_event_source_mapping(UUID=mapping, Enabled=on)
        for entry in self.cloud.scheduler.list_schedules(GroupName=DEPLOYMENT)["Schedules"]:
            schedule = self.cloud.scheduler.get_schedule(GroupName=DEPLOYMENT, Name=entry["Name"])
            told = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
            state = "ENABLED" if on else "DISABLED"
            self.cloud.scheduler.update_schedule(**{name: schedule[name] for name in told}, State=state)

    def _state(self, name):
        return self.cloud.functions.get_function_configuration(FunctionName=name)["State"]
