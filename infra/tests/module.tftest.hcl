# What the module makes of its variables, without an account: `infra/check`.

mock_provider "aws" {
  override_data {
    target = data.aws_caller_identity.current
    values = { account_id = "123456789012" }
  }
  override_data {
    target = data.aws_partition.current
    values = { partition = "aws" }
  }
  override_data {
    target = data.aws_region.current
    values = { id = "eu-west-1", name = "eu-west-1" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mocked" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-west-1:123456789012:mocked", url = "https://sqs.eu-west-1.amazonaws.com/123456789012/mocked" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::mocked" }
  }
  mock_resource "aws_dynamodb_table" {
    defaults = { arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/mocked" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-west-1:123456789012:rule/mocked" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { version = "7", arn = "arn:aws:lambda:eu-west-1:123456789012:function:mocked" }
  }
  mock_resource "aws_lambda_alias" {
    defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mocked:live" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:mocked" }
  }
}

variables {
  package = "tests/package"
  clusters = {
    prod  = { subnet_ids = ["subnet-1", "subnet-2"], security_group_ids = ["sg-1"], usd_per_node_hour = "0.02" }
    batch = { min_values_policy = "BestEffort", nominate_planned_pods = true, enabled = false }
  }
}

run "one_deployment_of_two_clusters" {
  assert {
    condition     = toset(keys(aws_lambda_function.main)) == toset(["provision", "lifecycle", "interruption", "disruption", "catalog"])
    error_message = "The five functions."
  }
  assert {
    condition     = alltrue([for function in aws_lambda_function.main : function.architectures == tolist(["arm64"]) && function.publish])
    error_message = "arm64, each change a version."
  }
  assert {
    condition     = jsondecode(aws_lambda_function.main["lifecycle"].environment[0].variables["JOURNEYMAN_CLUSTERS"]) == { prod = { preferencePolicy = "Respect", minValuesPolicy = "Strict", usdPerNodeHour = "0.02" }, batch = { preferencePolicy = "Respect", minValuesPolicy = "BestEffort", nominatePlannedPods = true } }
    error_message = "The clusters, in the words of the functions."
  }
  assert {
    condition     = aws_lambda_function.main["provision"].environment[0].variables["JOURNEYMAN_LINGER"] == "50s"
    error_message = "The linger is a duration."
  }
  assert {
    condition     = length(aws_scheduler_schedule.main) == 8 && aws_scheduler_schedule.main["prod/provision"].state == "ENABLED" && aws_scheduler_schedule.main["batch/provision"].state == "DISABLED"
    error_message = "Four schedules a cluster; a cluster that is switched off has none that work."
  }
  assert {
    condition     = aws_scheduler_schedule.main["prod/provision"].target[0].sqs_parameters[0].message_group_id == "prod"
    error_message = "The group is the cluster: one decider at a time."
  }
  assert {
    condition     = strcontains(aws_scheduler_schedule.main["prod/provision"].target[0].input, "<aws.scheduler.scheduled-time>")
    error_message = "Without the time in it, the queue would drop four of five minutes' messages as said before."
  }
  assert {
    condition     = toset([for key, entry in aws_eks_access_entry.function : "${entry.cluster_name} ${one(entry.kubernetes_groups)}" if entry.cluster_name == "prod"]) == toset([for function in ["provision", "lifecycle", "interruption", "disruption", "catalog"] : "prod journeyman:${function}"])
    error_message = "A group a function in each cluster."
  }
  assert {
    condition     = length(aws_ec2_tag.subnet) == 2 && alltrue([for tag in aws_ec2_tag.subnet : tag.key == "karpenter.sh/discovery" && tag.value == "prod"])
    error_message = "Named subnets are tagged for discovery."
  }
}

run "queues_hold_nothing_back" {
  assert {
    condition     = alltrue([for queue in aws_sqs_queue.main : queue.delay_seconds == 0])
    error_message = "A Spot notice leaves two minutes."
  }
  assert {
    condition     = aws_sqs_queue.main["wake"].fifo_queue && aws_sqs_queue.main["wake"].content_based_deduplication && aws_sqs_queue.dead["wake"].fifo_queue
    error_message = "wake is FIFO, and so must be its dead-letter queue."
  }
  assert {
    condition     = alltrue([for name, queue in { wake = "provision", lifecycle = "lifecycle", interruption = "interruption" } : aws_sqs_queue.main[name].visibility_timeout_seconds > aws_lambda_function.main[queue].timeout])
    error_message = "A message must not come again while it is worked on."
  }
  assert {
    condition     = alltrue([for queue in aws_sqs_queue.main : jsondecode(queue.redrive_policy).maxReceiveCount == 3])
    error_message = "Three tries."
  }
  assert {
    condition     = alltrue([for mapping in aws_lambda_event_source_mapping.main : mapping.function_response_types == toset(["ReportBatchItemFailures"])])
    error_message = "Messages fail alone."
  }
  assert {
    condition     = length([for statement in jsondecode(aws_sqs_queue_policy.main["interruption"].policy).Statement : statement if statement.Effect == "Allow" && try(statement.Principal.Service, "") == "events.amazonaws.com" && try(statement.Condition.StringEquals["aws:SourceAccount"], "") == "123456789012"]) == 1
    error_message = "Only this account's EventBridge."
  }
}

run "names_are_those_the_functions_know" {
  assert {
    condition     = aws_dynamodb_table.main.hash_key == "kind" && aws_dynamodb_table.main.range_key == "key" && one(aws_dynamodb_table.main.ttl).attribute_name == "until"
    error_message = "shared/cloud reads and writes kind, key and until."
  }
  assert {
    condition     = toset([for rule in aws_cloudwatch_event_rule.main : jsondecode(rule.event_pattern)["detail-type"][0]]) == toset(["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation", "EC2 Instance State-change Notification", "EC2 Capacity Reservation Instance Interruption Warning", "AWS Health Event"])
    error_message = "Five kinds of news."
  }
}

run "a_missing_status_is_asked_for_by_event" {
  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.refresh.event_pattern) == { source = ["journeyman"], detail-type = ["journeyman.refresh"], detail = { cluster = ["batch", "prod"] } } && aws_cloudwatch_event_target.refresh.input_path == "$.detail"
    error_message = "catalog is handed what shared/runtime publishes, of this deployment's clusters."
  }
}

run "policies_are_json_with_nothing_left_open" {
  assert {
    condition     = alltrue([for policy in concat(values(aws_iam_role_policy.function), values(aws_iam_role_policy.common), [aws_iam_role_policy.scheduler]) : can(jsondecode(policy.policy)) && !strcontains(policy.policy, "$${")])
    error_message = "A placeholder is left in a policy."
  }
  assert {
    condition     = length(flatten([for statement in jsondecode(aws_iam_role_policy.function["lifecycle"].policy).Statement : statement if statement.Sid == "EndWhatIsOurs" && try(toset(statement.Condition.StringEquals["aws:ResourceTag/eks:eks-cluster-name"]) == toset(["prod", "batch"]), false)])) == 1
    error_message = "Only machines of our clusters."
  }
  assert {
    condition     = alltrue([for policy in aws_iam_role_policy.function : length(policy.policy) < 9000])
    error_message = "All inline policies of a role together have 10,240 characters."
  }
}

run "a_release_goes_gradually_and_back" {
  variables {
    release = { stable = { provision = "6" }, weight = 0.1 }
  }
  assert {
    condition     = aws_lambda_alias.main["provision"].function_version == "6" && one(aws_lambda_alias.main["provision"].routing_config).additional_version_weights["7"] == 0.1
    error_message = "A tenth goes to the newest version."
  }
  assert {
    condition     = aws_lambda_alias.main["catalog"].function_version == "7" && length(aws_lambda_alias.main["catalog"].routing_config) == 0
    error_message = "What isn't held back is at the newest version."
  }
}

run "a_rollback_is_one_step" {
  variables {
    release = { stable = { provision = "6" } }
  }
  assert {
    condition     = aws_lambda_alias.main["provision"].function_version == "6" && length(aws_lambda_alias.main["provision"].routing_config) == 0
    error_message = "All goes to the version that stays."
  }
}

run "options" {
  variables {
    architecture = "x86_64"
    linger       = 0
    node_roles   = ["arn:aws:iam::123456789012:role/path/mine"]
    kms_key_arn  = "arn:aws:kms:eu-west-1:123456789012:key/1"
    functions    = { provision = { memory = 1769, log = "debug" } }
    vpc          = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"], isolated = true, endpoints = { vpc_id = "vpc-1", route_table_ids = ["rtb-1"] } }
  }
  assert {
    condition     = aws_lambda_function.main["provision"].architectures == tolist(["x86_64"]) && aws_lambda_function.main["provision"].memory_size == 1769 && aws_lambda_function.main["provision"].environment[0].variables["RUST_LOG"] == "debug"
    error_message = "What is said of a function holds."
  }
  assert {
    condition     = length(aws_iam_role.node) == 0 && output.node_role == "mine" && one([for statement in jsondecode(aws_iam_role_policy.function["lifecycle"].policy).Statement : jsonencode(statement.Resource) if statement.Sid == "GiveMachinesTheirRole"]) == jsonencode(["arn:aws:iam::123456789012:role/path/mine"])
    error_message = "Nodes have the role that is given."
  }
  assert {
    condition     = aws_sqs_queue.main["lifecycle"].kms_master_key_id != null && length(aws_iam_role_policy.kms) == 5
    error_message = "The key is used, and may be."
  }
  assert {
    condition     = toset(keys(aws_vpc_endpoint.main)) == toset(["ec2", "eks", "ssm", "sqs", "events", "s3", "dynamodb"]) && length(aws_iam_role_policy.network) == 5 && aws_lambda_function.main["catalog"].environment[0].variables["ISOLATED_VPC"] == "true"
    error_message = "A VPC without a way out has endpoints."
  }
}

run "what_cannot_be_is_refused" {
  command = plan
  variables {
    clusters     = { prod = { min_values_policy = "Sometimes" } }
    architecture = "riscv"
    linger       = 900
    name         = "Journeyman!"
    functions    = { provisioner = {} }
    release      = { weight = 2 }
  }
  expect_failures = [var.clusters, var.architecture, var.linger, var.name, var.functions, var.release]
}
