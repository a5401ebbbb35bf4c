data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  # `name` is deprecated in provider 6, `region` absent in 5; the id is the same in both.
  region = data.aws_region.current.id

  # The default event bus: AWS's own events come there, and what Journeyman publishes goes there.
  event_bus = "default"

  # Memory is what was measured with room to spare; Lambda gives processor by memory, and planning is processor.
  functions = {
    provision    = { memory = 512, timeout = var.linger + 40, queue = "wake", batch = 1 }
    lifecycle    = { memory = 256, timeout = 60, queue = "lifecycle", batch = 10 }
    interruption = { memory = 256, timeout = 60, queue = "interruption", batch = 10 }
    disruption   = { memory = 512, timeout = 60, queue = null, batch = null }
    catalog      = { memory = 512, timeout = 300, queue = null, batch = null }
  }

  settings = {
    for name, function in local.functions : name => {
      memory  = coalesce(try(var.functions[name].memory, null), function.memory)
      timeout = coalesce(try(var.functions[name].timeout, null), function.timeout)
      log     = coalesce(try(var.functions[name].log, null), "info")
    }
  }

  environment = {
    JOURNEYMAN_CLUSTERS = jsonencode({
      for name, cluster in var.clusters : name => merge(
        { preferencePolicy = cluster.preference_policy, minValuesPolicy = cluster.min_values_policy },
        cluster.nominate_planned_pods ? { nominatePlannedPods = true } : {},
        cluster.usd_per_node_hour == "" ? {} : { usdPerNodeHour = cluster.usd_per_node_hour },
      )
    })
    JOURNEYMAN_WAKE_QUEUE_URL      = aws_sqs_queue.main["wake"].url
    JOURNEYMAN_LIFECYCLE_QUEUE_URL = aws_sqs_queue.main["lifecycle"].url
    JOURNEYMAN_BUCKET              = aws_s3_bucket.main.bucket
    JOURNEYMAN_TABLE               = aws_dynamodb_table.main.name
    JOURNEYMAN_EVENT_BUS           = local.event_bus
    JOURNEYMAN_LINGER              = "${var.linger}s"
    ISOLATED_VPC                   = tostring(try(var.vpc.isolated, false))
  }

  # What the policies' placeholders stand for. Lists are written into a place of one string: ["$${clusters}"].
  placeholders = {
    account                = local.account
    partition              = local.partition
    region                 = local.region
    clusters               = join("\",\"", keys(var.clusters))
    cluster_arns           = join("\",\"", [for name in keys(var.clusters) : "arn:${local.partition}:eks:${local.region}:${local.account}:cluster/${name}"])
    node_role_arns         = join("\",\"", local.node_role_arns)
    parameter_arns         = join("\",\"", concat(["arn:${local.partition}:ssm:${local.region}::parameter/aws/service/*"], var.parameter_arns))
    bucket_arn             = aws_s3_bucket.main.arn
    table_arn              = aws_dynamodb_table.main.arn
    event_bus_arn          = "arn:${local.partition}:events:${local.region}:${local.account}:event-bus/${local.event_bus}"
    wake_queue_arn         = aws_sqs_queue.main["wake"].arn
    lifecycle_queue_arn    = aws_sqs_queue.main["lifecycle"].arn
    interruption_queue_arn = aws_sqs_queue.main["interruption"].arn
  }
}
