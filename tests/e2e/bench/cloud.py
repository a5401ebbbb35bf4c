"""What stands in the AWS account: what is a person's own, made with boto3, and what Terraform makes of `infra/`.

Terraform makes queues, rules, targets, schedules, table, bucket, functions with their roles and what wakes them, and
tags subnets and security groups. Made here are the network, since it is there before Journeyman comes; the role of
nodes, which the module makes too, but in the other emulator, where Lambda looks for its roles; and a queue on which
tests hear what Journeyman publishes.
"""

import json
import os
import secrets
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "123456789012"

APPLY = Path(__file__).resolve().parents[3] / "infra" / "examples" / "emulated" / "apply"


@dataclass
class Account:
    """Names and ids of what was made."""

    cluster: str
    vpc: str = ""
    subnets: dict = field(default_factory=dict)
    security_group: str = ""
    node_role: str = "journeyman-node"
    function_role: str = ""
    queues: dict = field(default_factory=dict)
    table: str = ""
    #: The environment that the module gives its functions.
    environment: dict = field(default_factory=dict)


class Cloud:
    """boto3 clients of both emulators, and what stands in the account."""

    def __init__(self, ec2_url, messages_url, cluster):
        self.ec2_url, self.messages_url = ec2_url, messages_url
        self.account = Account(cluster)
        self.ec2, self.iam, self.ssm, self.eks = map(self.client, ("ec2", "iam", "ssm", "eks"))
        self.sqs, self.events, self.dynamodb = map(self.client, ("sqs", "events", "dynamodb"))
        self.functions, self.scheduler, self.logs = map(self.client, ("lambda", "scheduler", "logs"))

    def client(self, service, url=None):
        """A client of whichever emulator answers for the service, unless one is given."""
        if url is None:
            url = self.ec2_url if service in ("ec2", "iam", "ssm", "eks", "pricing") else self.messages_url
        settings = Config(retries={"mode": "standard", "max_attempts": 3}, connect_timeout=5, read_timeout=60)
        # A short key: with twelve digits it would name an account to one of the emulators.
        return boto3.client(
            service,
            endpoint_url=url,
            region_name=REGION,
            aws_access_key_id="AKIABENCH",
            aws_secret_access_key="bench",
            config=settings,
        )

    def make(self, folder, package):
        """Makes Journeyman's part, with the functions' zips from `package`. Terraform keeps its state in `folder`."""
        self.iam.create_role(RoleName=self.account.node_role, AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
        made = self._apply(folder, package)
        self.account.queues = made["queue_urls"]
        self.account.table = made["table"]
        self.account.environment = made["environment"]
        self.account.function_role = made["function_roles"]["provision"]
        self._listen()

    def _apply(self, folder, package):
        """Applies `infra/` and gives its outputs. The schedules are off until functions are started."""
        account = self.account
        variables = {
            "ec2_url": self.ec2_url,
            "messages_url": self.messages_url,
            "package": package,
            "cluster": account.cluster,
            "enabled": False,
            "subnet_ids": list(account.subnets.values()),
            "security_group_ids": [account.security_group],
        }
        told = {f"TF_VAR_{name}": v if isinstance(v, str) else json.dumps(v) for name, v in variables.items()}
        done = subprocess.run(
            [APPLY, folder], env={**os.environ, **told}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 0, f"infra/ could not be applied:\n{done.stderr}"
        return json.loads(done.stdout)["deployment"]["value"]

    def put_event(self, event):
        """Puts an event on the default bus, as AWS or as anyone."""
        answer = self.events.put_events(Entries=[event])
        assert answer["FailedEntryCount"] == 0, answer

    def receive(self, queue, count=10, wait=0):
        """Takes messages off a queue: their bodies, read as JSON."""
        url = self.account.queues[queue]
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=count, WaitTimeSeconds=wait)
        messages = found.get("Messages", [])
        for message in messages:
            self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    def waiting(self, queue):
        """How many messages are in a queue: seen, unseen or put off."""
        names = ["", "NotVisible", "Delayed"]
        names = [f"ApproximateNumberOfMessages{name}" for name in names]
        found = self.sqs.get_queue_attributes(QueueUrl=self.account.queues[queue], AttributeNames=names)
        return sum(int(value) for value in found["Attributes"].values())

    def clear(self):
        """Empties queues and table, removes instance profiles."""
        for url in self.account.queues.values():
            self.sqs.purge_queue(QueueUrl=url)
        for item in self.dynamodb.scan(TableName=self.account.table)["Items"]:
            key = {name: item[name] for name in ("kind", "key")}
            self.dynamodb.delete_item(TableName=self.account.table, Key=key)
        for profile in self.iam.list_instance_profiles()["InstanceProfiles"]:
            name = profile["InstanceProfileName"]
            for role in profile["Roles"]:
                self.iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=role["RoleName"])
            self.iam.delete_instance_profile(InstanceProfileName=name)

    def make_network(self):
        """Makes a network of three zones."""
        account = self.account
        account.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        for number, letter in enumerate("abc"):
            zone = f"{REGION}{letter}"
            subnet = self.ec2.create_subnet(
                VpcId=account.vpc, CidrBlock=f"10.0.{number * 32}.0/19", AvailabilityZone=zone
            )
            account.subnets[zone] = subnet["Subnet"]["SubnetId"]
        group = self.ec2.create_security_group(
            VpcId=account.vpc, GroupName=f"{account.cluster}-node", Description="nodes"
        )
        account.security_group = group["GroupId"]

    def _listen(self):
        """A queue with what Journeyman itself publishes."""
        url = self.sqs.create_queue(QueueName="bench-events")["QueueUrl"]
        self.account.queues["events"] = url
        self.events.put_rule(Name="bench-events", EventPattern=json.dumps({"source": [{"prefix": "journeyman"}]}))
        self.events.put_targets(Rule="bench-events", Targets=[{"Id": "events", "Arn": self.arn(url)}])

    def arn(self, queue_url):
        """A queue's ARN."""
        found = self.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
        return found["Attributes"]["QueueArn"]


def endpoints(ec2_url, messages_url):
    """The variables that lead AWS's SDKs to the emulators."""
    ours = ("EC2", "IAM", "SSM", "EKS", "PRICING")
    return {"AWS_ENDPOINT_URL": messages_url, **{f"AWS_ENDPOINT_URL_{name}": ec2_url for name in ours}}


def trust(service):
    """The policy by which an AWS service may take on a role."""
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
        }
    )


def credentials():
    """A new access key, its secret and its session token, as a role's session has them."""
    return f"ASIA{secrets.token_hex(8).upper()}", secrets.token_hex(20), secrets.token_hex(40)
