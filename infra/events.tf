locals {
  rules = {
    spot-interruption    = { source = ["aws.ec2"], detail-type = ["EC2 Spot Instance Interruption Warning"] }
    rebalance            = { source = ["aws.ec2"], detail-type = ["EC2 Instance Rebalance Recommendation"] }
    state-change         = { source = ["aws.ec2"], detail-type = ["EC2 Instance State-change Notification"], detail = { state = ["stopping", "stopped", "shutting-down", "terminated"] } }
    capacity-reservation = { source = ["aws.ec2"], detail-type = ["EC2 Capacity Reservation Instance Interruption Warning"] }
    scheduled-change     = { source = ["aws.health"], detail-type = ["AWS Health Event"], detail = { service = ["EC2"], eventTypeCategory = ["scheduledChange"] } }
  }

  # What is looked at without being told. Statuses are written at once when somebody misses them, and looked over every five minutes; prices are asked
  # for once they are an hour old.
  looks = {
    provision  = { every = "1 minute", queue = "wake" }
    lifecycle  = { every = "1 minute", queue = "lifecycle" }
    disruption = { every = "1 minute", queue = null }
    catalog    = { every = "5 minutes", queue = null }
  }

  schedules = merge([
    for cluster, settings in var.clusters : {
      for function, look in local.looks : "${cluster}/${function}" => merge(look, {
        cluster  = cluster
        function = function
        enabled  = settings.enabled
      })
    }
  ]...)
}

resource "aws_cloudwatch_event_rule" "main" {
  for_each = local.rules

  name           = "${var.name}-${each.key}"
  description    = "Journeyman: ${each.value.detail-type[0]}"
  event_bus_name = local.event_bus
  event_pattern  = jsonencode(each.value)
  tags           = var.tags
}

resource "aws_cloudwatch_event_target" "main" {
  for_each = local.rules

  rule           = aws_cloudwatch_event_rule.main[each.key].name
  event_bus_name = local.event_bus
  target_id      = "interruption"
  arn            = aws_sqs_queue.main["interruption"].arn
}

# What the functions tell of EC2NodeClasses and NodePools whose statuses are missing: `catalog` writes them at once.
resource "aws_cloudwatch_event_rule" "refresh" {
  name           = "${var.name}-refresh"
  description    = "Journeyman: a status is missing or of an older generation"
  event_bus_name = local.event_bus
  event_pattern  = jsonencode({ source = ["journeyman"], detail-type = ["journeyman.refresh"], detail = { cluster = keys(var.clusters) } })
  tags           = var.tags
}

resource "aws_cloudwatch_event_target" "refresh" {
  rule           = aws_cloudwatch_event_rule.refresh.name
  event_bus_name = local.event_bus
  target_id      = "catalog"
  arn            = aws_lambda_alias.main["catalog"].arn
  # The function is handed the same as by its schedule.
  input_path = "$.detail"
}

resource "aws_lambda_permission" "refresh" {
  statement_id   = "refresh"
  action         = "lambda:InvokeFunction"
  principal      = "events.amazonaws.com"
  function_name  = aws_lambda_function.main["catalog"].function_name
  qualifier      = aws_lambda_alias.main["catalog"].name
  source_arn     = aws_cloudwatch_event_rule.refresh.arn
  source_account = local.account
}

resource "aws_scheduler_schedule_group" "main" {
  name = var.name
  tags = var.tags
}

resource "aws_scheduler_schedule" "main" {
  for_each = local.schedules

  name                = replace("${each.value.cluster}-${each.value.function}", "/[^0-9A-Za-z_.-]/", "-")
  description         = "Journeyman: ${each.value.function} of ${each.value.cluster}"
  group_name          = aws_scheduler_schedule_group.main.name
  schedule_expression = "rate(${each.value.every})"
  state               = each.value.enabled ? "ENABLED" : "DISABLED"
  kms_key_arn         = var.kms_key_arn

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = each.value.queue == null ? aws_lambda_alias.main[each.value.function].arn : aws_sqs_queue.main[each.value.queue].arn
    role_arn = aws_iam_role.scheduler.arn
    # A FIFO queue takes what is said twice within five minutes for one message: the time makes each its own. jsonencode
    # would write the angle brackets in a way that Scheduler doesn't know.
    input = "{\"cluster\":${jsonencode(each.value.cluster)},\"reason\":\"schedule <aws.scheduler.scheduled-time>\"}"

    dynamic "sqs_parameters" {
      for_each = each.value.queue == "wake" ? [each.value.cluster] : []
      content {
        message_group_id = sqs_parameters.value
      }
    }

    # The next one comes anyway.
    retry_policy {
      maximum_event_age_in_seconds = 60
      maximum_retry_attempts       = 1
    }
  }
}

resource "aws_iam_role" "scheduler" {
  name                 = "${var.name}-scheduler-${local.region}"
  description          = "Lets EventBridge Scheduler wake Journeyman"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_iam_role_policy" "scheduler" {
  name = "wake"
  role = aws_iam_role.scheduler.id
  policy = templatefile("${path.module}/policies/scheduler.json", merge(local.placeholders, {
    invoked_arns = join("\",\"", [for function, look in local.looks : aws_lambda_alias.main[function].arn if look.queue == null])
  }))
}

resource "aws_iam_role_policy" "scheduler_kms" {
  count = var.kms_key_arn == null ? 0 : 1

  name   = "key"
  role   = aws_iam_role.scheduler.id
  policy = templatefile("${path.module}/policies/kms.json", { kms_key_arn = var.kms_key_arn })
}
