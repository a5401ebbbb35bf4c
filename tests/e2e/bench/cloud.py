"""What stands in the AWS account before Journeyman does: network, images, queues, rules, bucket, table.

`infra/` makes the same in a real account; here it is made with boto3, in seconds.
"""

import json
import secrets
from dataclasses import dataclass, field

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "123456789012"

#: What the interruption queue listens to: one rule each.
RULES = {
    "spot-interruption": {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]},
    "rebalance": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]},
    "state-change": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"]},
    "capacity-reservation": {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"],
    },
    "scheduled-change": {"source": ["aws.health"], "detail-type": ["AWS Health Event"]},
}

#: Queues by role: the name, whether FIFO, seconds of invisibility, receives before a message is given up.
QUEUES = {
    "wake": ("journeyman-wake.fifo", True, 90, 3),
    "lifecycle": ("journeyman-lifecycle", False, 60, 3),
    "interruption": ("journeyman-interruption", False, 60, 3),
    "events": ("journeyman-events", False, 30, None),
}


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
    bucket: str = ""
    table: str = "journeyman"
    bus: str = "default"


class Cloud:
    """boto3 clients of both emulators, and what stands in the account."""

    def __init__(self, ec2_url, messages_url, cluster):
        self.ec2_url, self.messages_url = ec2_url, messages_url
        self.account = Account(cluster, bucket=f"journeyman-{cluster}")
        self.ec2, self.iam, self.ssm, self.eks = map(self.client, ("ec2", "iam", "ssm", "eks"))
        self.sqs, self.events, self.s3, self.dynamodb = map(self.client, ("sqs", "events", "s3", "dynamodb"))
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

    def endpoints(self):
        """The variables that lead AWS's SDKs to the emulators."""
        ours = ("EC2", "IAM", "SSM", "EKS", "PRICING")
        return {"AWS_ENDPOINT_URL": self.messages_url, **{f"AWS_ENDPOINT_URL_{name}": self.ec2_url for name in ours}}

    def make(self):
        """Makes everything."""
        self._network()
        self._roles()
        self._queues()
        self.s3.create_bucket(Bucket=self.account.bucket)
        self.dynamodb.create_table(
            TableName=self.account.table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "kind", "AttributeType": "S"},
                {"AttributeName": "key", "AttributeType": "S"},
            ],
            KeySchema=[{"AttributeName": "kind", "KeyType": "HASH"}, {"AttributeName": "key", "KeyType": "RANGE"}],
        )
        self.dynamodb.update_time_to_live(
            TableName=self.account.table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
        )

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

    def _network(self):
        account, tags = self.account, [{"Key": "karpenter.sh/discovery", "Value": self.account.cluster}]
        account.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        for number, letter in enumerate("abc"):
            zone = f"{REGION}{letter}"
            subnet = self.ec2.create_subnet(
                VpcId=account.vpc,
                CidrBlock=f"10.0.{number * 32}.0/19",
                AvailabilityZone=zone,
                TagSpecifications=[{"ResourceType": "subnet", "Tags": tags}],
            )
            account.subnets[zone] = subnet["Subnet"]["SubnetId"]
        group = self.ec2.create_security_group(
            VpcId=account.vpc,
            GroupName=f"{account.cluster}-node",
            Description="nodes",
            TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
        )
        account.security_group = group["GroupId"]

    def _roles(self):
        self.iam.create_role(RoleName=self.account.node_role, AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
        # Lambda is in the other emulator and looks for its roles there.
        role = self.client("iam", self.messages_url).create_role(
            RoleName="journeyman-function", AssumeRolePolicyDocument=trust("lambda.amazonaws.com")
        )
        self.account.function_role = role["Role"]["Arn"]

    def _queues(self):
        for role, (name, fifo, invisible, receives) in QUEUES.items():
            stem, dot, end = name.partition(".")
            kind = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if fifo else {}
            attributes = {**kind, "VisibilityTimeout": str(invisible)}
            if receives:
                dead = self.sqs.create_queue(QueueName=f"{stem}-dead{dot}{end}", Attributes=kind)["QueueUrl"]
                self.account.queues[f"{role}-dead"] = dead
                policy = {"deadLetterTargetArn": self.arn(dead), "maxReceiveCount": str(receives)}
                attributes["RedrivePolicy"] = json.dumps(policy)
            self.account.queues[role] = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        for name, pattern in RULES.items():
            self._rule(f"journeyman-{name}", pattern, "interruption")
        # What Journeyman itself publishes, for tests to read.
        self._rule("bench-events", {"source": [{"prefix": "journeyman"}]}, "events")

    def _rule(self, name, pattern, queue):
        self.events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        self.events.put_targets(Rule=name, Targets=[{"Id": queue, "Arn": self.arn(self.account.queues[queue])}])

    def arn(self, queue_url):
        """A queue's ARN."""
        found = self.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
        return found["Attributes"]["QueueArn"]


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
