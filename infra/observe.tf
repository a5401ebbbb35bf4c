locals {
  alarms = merge(
    {
      for queue in keys(local.queues) : "${queue}-dead" => {
        text      = "Messages of queue ${queue} failed three times: read one, mend the cause, redrive them."
        namespace = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum"
        labels    = { QueueName = aws_sqs_queue.dead[queue].name }
        period    = 60, of = 1, above = 0
      }
    },
    {
      for function in keys(local.functions) : "${function}-errors" => {
        text      = "Function ${function} keeps failing: see its log group."
        namespace = "AWS/Lambda", metric = "Errors", statistic = "Sum"
        labels    = { FunctionName = "${var.name}-${function}" }
        period    = 300, of = 3, above = 1
      }
    },
    {
      for function in keys(local.functions) : "${function}-throttles" => {
        text      = "Function ${function} is throttled: the account's concurrency is used up."
        namespace = "AWS/Lambda", metric = "Throttles", statistic = "Sum"
        labels    = { FunctionName = "${var.name}-${function}" }
        period    = 300, of = 3, above = 0
      }
    },
    merge([
      for cluster in keys(var.clusters) : {
        "${cluster}-audit" = {
          text      = "A plan for ${cluster} broke a rule and was not carried out: its record is in the bucket below records/${cluster}/."
          namespace = "Journeyman", metric = "audit_objections_total", statistic = "Sum"
          labels    = { cluster = cluster }
          period    = 300, of = 1, above = 0
        }
        "${cluster}-catalogue-stale" = {
          text      = "Prices and types for ${cluster} have not been refreshed for half an hour past their time."
          namespace = "Journeyman", metric = "catalogue_refresh_failures_total", statistic = "Sum"
          labels    = { cluster = cluster }
          period    = 900, of = 2, above = 0
        }
        "${cluster}-records-lost" = {
          text      = "Decisions about ${cluster} are taken but not recorded."
          namespace = "Journeyman", metric = "records_lost_total", statistic = "Sum"
          labels    = { cluster = cluster }
          period    = 300, of = 3, above = 0
        }
      }
    ]...),
  )
}

resource "aws_cloudwatch_metric_alarm" "main" {
  for_each = local.alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.text
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  dimensions          = each.value.labels
  period              = each.value.period
  evaluation_periods  = each.value.of
  datapoints_to_alarm = each.value.of
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.above
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

# Silence is a failure too: a schedule that was switched off or lost.
resource "aws_cloudwatch_metric_alarm" "silent" {
  # Nobody interrupts instances by schedule.
  for_each = anytrue([for cluster in var.clusters : cluster.enabled]) ? local.looks : {}

  alarm_name          = "${var.name}-${each.key}-silent"
  alarm_description   = "Function ${each.key} has not run for a quarter of an hour: are its schedules there and enabled?"
  namespace           = "AWS/Lambda"
  metric_name         = "Invocations"
  statistic           = "Sum"
  dimensions          = { FunctionName = "${var.name}-${each.key}" }
  period              = 900
  evaluation_periods  = 1
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  treat_missing_data  = "breaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.alarm_actions
  tags                = var.tags
}

resource "aws_cloudwatch_dashboard" "main" {
  dashboard_name = "${var.name}-${local.region}"
  dashboard_body = jsonencode({
    widgets = [
      for index, widget in [
        { title = "NodeClaims made and gone", metrics = [for cluster in keys(var.clusters) : [{ expression = "SEARCH('Namespace=\"Journeyman\" cluster=\"${cluster}\" MetricName=(\"karpenter_nodeclaims_created_total\" OR \"karpenter_nodeclaims_disrupted_total\")', 'Sum')", label = cluster }]] },
        { title = "Pods without room", metrics = [for cluster in keys(var.clusters) : ["Journeyman", "karpenter_scheduler_unschedulable_pods_count", "cluster", cluster]], stat = "Maximum" },
        { title = "Seconds a decision takes", metrics = [for cluster in keys(var.clusters) : ["Journeyman", "karpenter_scheduler_scheduling_duration_seconds", "cluster", cluster]], stat = "p99" },
        { title = "Launches that failed", metrics = [for cluster in keys(var.clusters) : [{ expression = "SEARCH('Namespace=\"Journeyman\" cluster=\"${cluster}\" MetricName=\"karpenter_cloudprovider_instance_launch_failures_total\"', 'Sum')", label = cluster }]] },
        { title = "Invocations", metrics = [for function in keys(local.functions) : ["AWS/Lambda", "Invocations", "FunctionName", "${var.name}-${function}"]] },
        { title = "Errors", metrics = [for function in keys(local.functions) : ["AWS/Lambda", "Errors", "FunctionName", "${var.name}-${function}"]] },
        { title = "Milliseconds", metrics = [for function in keys(local.functions) : ["AWS/Lambda", "Duration", "FunctionName", "${var.name}-${function}"]], stat = "p90" },
        { title = "Oldest message, seconds", metrics = [for queue in keys(local.queues) : ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", aws_sqs_queue.main[queue].name]], stat = "Maximum" },
        { title = "Given up", metrics = [for queue in keys(local.queues) : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", aws_sqs_queue.dead[queue].name]], stat = "Maximum" },
        ] : {
        type = "metric", x = 12 * (index % 2), y = 6 * floor(index / 2), width = 12, height = 6
        properties = {
          title   = widget.title
          region  = local.region
          view    = "timeSeries"
          stat    = try(widget.stat, "Sum")
          period  = 60
          metrics = widget.metrics
        }
      }
    ]
  })
}
