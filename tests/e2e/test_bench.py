"""The bench itself, without Journeyman: that each part is what the other tests take it for."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import requests
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from bench import ApiError, Function, Kube, condition, deployment, node_class, node_pool, role_binding, until
from bench.cloud import REGION

TRIAL = Path(__file__).parent / "trial"


def node_config(bench, labels="team=a", taints=()):
    """User data of Amazon Linux 2023 that joins the bench's cluster."""
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": bench.cluster,
                "apiServerEndpoint": bench.kube.endpoint,
                "certificateAuthority": bench.authority(),
                "cidr": "10.100.0.0/16",
            },
            "kubelet": {
                "config": {"maxPods": 29, "registerWithTaints": list(taints)},
                "flags": [f'--node-labels="{labels}"'],
            },
        },
    }
    return (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\n'
        f"Content-Type: application/node.eks.aws\n\n{json.dumps(config)}\n--//--\n"
    )


def launch(bench, user_data, count=1, types=("m5.large",), capacity_type="spot", token=None):
    """Launches instances as Journeyman does: a template, an instant fleet over all subnets."""
    ec2 = bench.cloud.ec2
    name = "/aws/service/eks/optimized-ami/1.37/amazon-linux-2023/x86_64/standard/recommended/image_id"
    image = bench.cloud.ssm.get_parameter(Name=name)["Parameter"]["Value"]
    template = f"template-{time.monotonic_ns()}"
    ec2.create_launch_template(
        LaunchTemplateName=template,
        LaunchTemplateData={
            "ImageId": image,
            "UserData": base64.b64encode(user_data.encode()).decode(),
            "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [bench.cloud.account.security_group]}],
        },
    )
    overrides = [
        {"InstanceType": kind, "SubnetId": subnet} for kind in types for subnet in bench.cloud.account.subnets.values()
    ]
    return ec2.create_fleet(
        Type="instant",
        **({"ClientToken": token} if token else {}),
        TargetCapacitySpecification={"TotalTargetCapacity": count, "DefaultTargetCapacityType": capacity_type},
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
                "Overrides": overrides,
            }
        ],
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": "karpenter.sh/nodepool", "Value": "default"}]}
        ],
    )


def instance_ids(fleet):
    """The ids in a fleet's answer."""
    return [number for instances in fleet["Instances"] for number in instances["InstanceIds"]]


def node_for(bench, instance_id):
    """The Node of an instance, or None."""
    nodes = bench.kube.list("Node")
    return next((n for n in nodes if n["spec"].get("providerID", "").endswith(f"/{instance_id}")), None)


def test_a_launched_instance_becomes_a_node_that_runs_pods(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    node = until(lambda: node_for(bench, number))
    until(lambda: condition(node_for(bench, number), "Ready") == "True")
    assert node["metadata"]["name"] == node["metadata"]["labels"]["kubernetes.io/hostname"]
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "m5.large"
    assert node["metadata"]["labels"]["team"] == "a"
    assert node["spec"]["providerID"] == f"aws:///{node['metadata']['labels']['topology.kubernetes.io/zone']}/{number}"
    assert node["status"]["capacity"]["pods"] == "29"
    bench.kube.apply(deployment("web", 3))
    until(lambda: len(bench.kube.pods("Running")) == 3, explain=bench.kube.summary)
    assert {pod["spec"]["nodeName"] for pod in bench.kube.pods()} == {node["metadata"]["name"]}


def test_a_node_can_fall_silent_and_come_back(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    name = until(lambda: node_for(bench, number))["metadata"]["name"]
    for ready in (True, False, True):
        bench.node_is_ready(name, ready)
        until(lambda ready=ready: condition(node_for(bench, number), "Ready") == str(ready))


def test_a_node_registers_with_the_taints_of_its_user_data(bench):
    taint = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
    (number,) = instance_ids(launch(bench, node_config(bench, taints=[taint])))
    node = until(lambda: node_for(bench, number))
    assert taint in [{k: t.get(k) for k in ("key", "effect")} for t in node["spec"]["taints"]]
    bench.kube.apply(deployment("web", 1))
    until(lambda: condition(next(iter(bench.kube.pods()), None), "PodScheduled") == "False")


def test_an_instance_with_anothers_user_data_becomes_no_node(bench):
    wrong = node_config(bench).replace(f'"name": "{bench.cluster}"', '"name": "other"')
    (number,) = instance_ids(launch(bench, wrong))
    until(lambda: number in bench.kubelets.refused)
    assert "other" in bench.kubelets.refused[number]
    assert node_for(bench, number) is None


def test_the_node_of_a_terminated_instance_goes(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    until(lambda: node_for(bench, number))
    bench.cloud.ec2.terminate_instances(InstanceIds=[number])
    until(lambda: node_for(bench, number) is None)


def test_a_spot_warning_reaches_the_queue_and_the_instance_ends(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    bench.warn_of_interruption(number, seconds=1)
    kinds = {}

    def seen():
        for message in bench.cloud.receive("interruption"):
            kinds.setdefault(message["detail-type"], set()).add((message["detail"]["instance-id"], message["account"]))
        return "EC2 Spot Instance Interruption Warning" in kinds

    until(seen)
    assert kinds["EC2 Spot Instance Interruption Warning"] == {(number, "123456789012")}
    until(lambda: not bench.kubelets.instances("pending", "running"))


def test_state_changes_are_told_as_ec2_tells_them(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    until(lambda: node_for(bench, number))
    bench.cloud.ec2.terminate_instances(InstanceIds=[number])
    states = []

    def told():
        for message in bench.cloud.receive("interruption"):
            if message["detail"].get("instance-id") == number:
                states.append(message["detail"]["state"])
        return "terminated" in states

    until(told)
    # That an instance starts is nothing to be told: the rule leaves it out.
    assert states == ["shutting-down", "terminated"]


def test_ec2_tells_of_hosts_that_fail_and_of_those_that_retire(bench):
    first, second = instance_ids(launch(bench, node_config(bench), count=2))
    until(lambda: len(bench.kubelets.instances("running")) == 2)
    bench.host_fails(first)
    bench.host_retires(second, "2026-06-01T12:00:00Z")
    found = bench.cloud.ec2.describe_instance_status(InstanceIds=[first, second])["InstanceStatuses"]
    status = {entry["InstanceId"]: entry for entry in found}
    assert status[first]["SystemStatus"]["Status"] == "impaired"
    assert status[first]["InstanceStatus"]["Status"] == "ok"
    assert status[second]["SystemStatus"]["Status"] == "ok"
    assert [event["Code"] for event in status[second]["Events"]] == ["instance-retirement"]


def test_a_message_that_nobody_can_handle_ends_as_a_dead_letter(bench):
    bench.cloud.sqs.send_message(QueueUrl=bench.cloud.account.queues["lifecycle"], MessageBody='{"poison": true}')
    url = bench.cloud.account.queues["lifecycle"]
    for _ in range(3):
        got = until(lambda: bench.cloud.sqs.receive_message(QueueUrl=url).get("Messages"))
        bench.cloud.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=got[0]["ReceiptHandle"], VisibilityTimeout=0
        )

    def dead():
        bench.cloud.sqs.receive_message(QueueUrl=url)
        return bench.cloud.receive("lifecycle-dead")

    assert until(dead) == [{"poison": True}]


def test_capacity_runs_out_by_offering(bench):
    bench.sold_out({"instance_type": "m5.large", "available": 0}, {"instance_type": "c5.large", "available": 1})
    fleet = launch(bench, node_config(bench), count=2, types=("m5.large", "c5.large"))
    assert len(instance_ids(fleet)) == 1
    assert {error["ErrorCode"] for error in fleet["Errors"]} == {"InsufficientInstanceCapacity"}
    assert "m5.large" in {e["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"] for e in fleet["Errors"]}


@pytest.mark.parametrize(
    "fault", [{"kind": "drop-before"}, {"kind": "drop-after"}, {"kind": "hang-after", "seconds": 1}]
)
def test_a_repeated_client_token_launches_nothing_again(bench, fault):
    bench.fail("CreateFleet", **fault)
    fleet = launch(bench, node_config(bench), token="once")
    assert fleet["ResponseMetadata"]["RetryAttempts"] == 1
    assert [i["id"] for i in bench.kubelets.instances("pending", "running")] == instance_ids(fleet)


def test_throttling_is_repeated_by_clients_and_logged(bench):
    bench.fail("CreateFleet", code="RequestLimitExceeded", status=503, times=2)
    assert len(instance_ids(launch(bench, node_config(bench)))) == 1
    assert [call["status"] for call in bench.calls("CreateFleet")] == [503, 503, 200]


def test_without_stock_a_call_succeeds_with_nothing(bench):
    bench.sold_out({"error": "MaxSpotInstanceCountExceeded", "message": "Max spot instance count exceeded"})
    fleet = launch(bench, node_config(bench))
    assert instance_ids(fleet) == []
    assert {error["ErrorCode"] for error in fleet["Errors"]} == {"MaxSpotInstanceCountExceeded"}


def test_our_manifests_are_accepted_and_wrong_ones_are_not(bench):
    bench.kube.apply(node_class(), node_pool(requirements=[("karpenter.sh/capacity-type", "In", "spot", "on-demand")]))
    with pytest.raises(ApiError) as refusal:
        bench.kube.apply(node_pool("odd", requirements=[("karpenter.sh/capacity-type", "Near", "spot")]))
    assert refusal.value.status == 422
    assert "default" in bench.kubectl("get", "nodepools")


def eks_token(bench, function, cluster=None, host="sts.us-east-1.amazonaws.com"):
    """A token of EKS, made by AWS's own signer."""
    request = AWSRequest(
        "GET",
        f"https://{host}/?Action=GetCallerIdentity&Version=2011-06-15",
        headers={"x-k8s-aws-id": cluster or bench.cluster},
    )
    SigV4QueryAuth(Credentials(*bench.keys[function]), "sts", REGION, expires=60).add_auth(request)
    return "k8s-aws-v1." + base64.urlsafe_b64encode(request.url.encode()).decode().rstrip("=")


def test_a_function_logs_in_with_a_token_of_eks_and_has_no_rights_yet(bench):
    description = bench.cloud.eks.describe_cluster(name=bench.cluster)["cluster"]
    assert description["endpoint"] == bench.kube.endpoint
    kube = Kube(bench.kubeconfig("tester"))

    def answer(token):
        kube.session.headers["Authorization"] = f"Bearer {token}"
        with pytest.raises(ApiError) as refusal:
            kube.list("Node")
        return refusal.value

    accepted = answer(eks_token(bench, "provision"))
    assert accepted.status == 403
    made = [(r["verb"], r["resource"], r["status"]) for r in bench.requests_of("provision") if r["resource"]]
    assert made == [("list", "nodes", 403)]
    assert "journeyman:provision" in str(accepted)
    assert answer(eks_token(bench, "lifecycle", cluster="other")).status == 401
    assert answer(eks_token(bench, "lifecycle", host="example.com")).status == 401
    bench.kube.apply(role_binding("view", "disruption"))
    kube.session.headers["Authorization"] = f"Bearer {eks_token(bench, 'disruption')}"
    until(lambda: allowed(kube, "Pod"))


def allowed(kube, kind):
    """Whether a user may list a kind."""
    try:
        kube.list(kind)
    except ApiError as error:
        assert error.status == 403
        return False
    return True


def trial_zip(folder):
    """A function that says what it was given, in any language that a machine with Python runs."""
    path = folder / "trial.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("bootstrap")
        info.external_attr = 0o755 << 16
        program = (TRIAL / "bootstrap.py").read_text(encoding="utf-8")
        archive.writestr(info, program.replace("#!/usr/bin/env python3", f"#!{sys.executable}", 1))
    return path


def test_functions_are_woken_by_queues_and_schedules(bench, tmp_path):
    function = Function(
        "trial",
        trial_zip(tmp_path),
        queues={"wake": 10},
        schedules={"rate(1 minute)": {"scheduled": "<aws.scheduler.scheduled-time>"}},
    )
    bench.functions.deploy(function)
    answer, failed = bench.functions.invoke("trial", {"hello": "there"})
    assert (answer["event"], failed) == ({"hello": "there"}, None)
    assert answer["environment"]["AWS_ACCESS_KEY_ID"] == bench.keys["provision"][0]
    assert answer["environment"]["AWS_ENDPOINT_URL_EC2"] == bench.cloud.ec2_url
    bench.cloud.sqs.send_message(
        QueueUrl=bench.cloud.account.queues["wake"],
        MessageBody='{"cluster": "bench"}',
        MessageGroupId="bench",
        MessageDeduplicationId="1",
    )
    until(lambda: any('\\"cluster\\"' in line for line in bench.functions.logs("trial")))
    until(lambda: any('"scheduled": "20' in line for line in bench.functions.logs("trial")), within=90)
    assert requests.get(f"{bench.cloud.messages_url}/_ministack/health", timeout=5).ok


def test_nothing_is_left_when_a_bench_is_killed():
    program = """
import time
from bench import Bench
with Bench(infrastructure=False) as bench:
    print(bench.folder, *[process.pid for process in bench.processes.values()], flush=True)
    time.sleep(600)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    folder, *pids = child.stdout.readline().split()
    child.kill()
    child.wait()
    until(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()])
    until(lambda: not users_of(folder))
    shutil.rmtree(folder)


def users_of(folder):
    """Processes that have a folder in their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def test_instances_are_found_by_all_of_several_tag_keys(bench):
    (number,) = instance_ids(launch(bench, node_config(bench)))
    asked = lambda *keys: [{"Name": "tag-key", "Values": [key]} for key in keys]  # noqa: E731
    find = lambda *keys: bench.cloud.ec2.describe_instances(Filters=asked(*keys))["Reservations"]  # noqa: E731
    found = [i["InstanceId"] for r in find("karpenter.sh/nodepool", "aws:ec2:fleet-id") for i in r["Instances"]]
    assert found == [number]
    assert [i for r in find("other", "karpenter.sh/nodepool") for i in r["Instances"]] == []


def test_parameters_of_aws_and_of_the_account_are_answered_together(bench):
    public = "/aws/service/bottlerocket/aws-k8s-1.37/arm64/latest/image_id"
    bench.cloud.ssm.put_parameter(Name="/mine", Value="ami-1", Type="String", Overwrite=True)
    asked = ["/mine", public, "/none", "/aws/service/none"]
    answer = bench.cloud.ssm.get_parameters(Names=asked)
    found = {parameter["Name"]: parameter["Value"] for parameter in answer["Parameters"]}
    assert found.keys() == {"/mine", public}
    assert set(answer["InvalidParameters"]) == {"/none", "/aws/service/none"}
    (image,) = bench.cloud.ec2.describe_images(ImageIds=[found[public]])["Images"]
    assert image["Architecture"] == "arm64"


def test_instance_profiles_are_listed_by_path(bench):
    iam = bench.cloud.iam
    iam.create_instance_profile(InstanceProfileName="one", Path="/karpenter/us-east-1/bench/uid/")
    iam.create_instance_profile(InstanceProfileName="two", Path="/karpenter/us-east-1/other/uid/")
    found = iam.list_instance_profiles(PathPrefix="/karpenter/us-east-1/bench/")["InstanceProfiles"]
    assert [profile["InstanceProfileName"] for profile in found] == ["one"]


def test_an_unknown_operation_is_refused_rather_than_repeated(bench):
    with pytest.raises(ClientError) as refusal:
        bench.cloud.ec2.get_spot_placement_scores(TargetCapacity=1, InstanceTypes=["m5.large"], RegionNames=[REGION])
    assert refusal.value.response["Error"]["Code"] == "BenchCannotAnswer"
