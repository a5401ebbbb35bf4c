locals {
  # Messages are hints: what is older than the schedule's next look tells nothing. An interruption's two minutes are over then, too.
  queues = {
    wake         = { fifo = true, retention = 300 }
    lifecycle    = { fifo = false, retention = 3600 }
    interruption = { fifo = false, retention = 300 }
  }
}

resource "aws_sqs_queue" "main" {
  for_each = local.queues

  name                        = "${var.name}-${each.key}${each.value.fifo ? ".fifo" : ""}"
  fifo_queue                  = each.value.fifo
  content_based_deduplication = each.value.fifo ? true : null
  # A Spot notice leaves two minutes, and hints bring their own delay.
  delay_seconds = 0
  # No message may come again while a function still works on it.
  visibility_timeout_seconds        = local.settings[one([for name, function in local.functions : name if function.queue == each.key])].timeout + 10
  message_retention_seconds         = each.value.retention
  kms_master_key_id                 = var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == null ? null : 3600
  sqs_managed_sse_enabled           = var.kms_key_arn == null ? true : null
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead[each.key].arn
    maxReceiveCount     = 3
  })
  tags = var.tags
}

resource "aws_sqs_queue" "dead" {
  for_each = local.queues

  name                              = "${var.name}-${each.key}-dead${each.value.fifo ? ".fifo" : ""}"
  fifo_queue                        = each.value.fifo
  message_retention_seconds         = 1209600
  kms_master_key_id                 = var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == null ? null : 3600
  sqs_managed_sse_enabled           = var.kms_key_arn == null ? true : null
  tags                              = var.tags
}

resource "aws_sqs_queue_redrive_allow_policy" "dead" {
  for_each = local.queues

  queue_url = aws_sqs_queue.dead[each.key].id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.main[each.key].arn]
  })
}

resource "aws_sqs_queue_policy" "main" {
  for_each = local.queues

  queue_url = aws_sqs_queue.main[each.key].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid       = "OnlyEncrypted"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.main[each.key].arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      }],
      # Only this account's rules; the account's principals reach queues by their own policies.
      each.key != "interruption" ? [] : [{
        Sid       = "OurRules"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.main[each.key].arn
        Condition = {
          StringEquals = { "aws:SourceAccount" = local.account }
          ArnEquals    = { "aws:SourceArn" = [for rule in aws_cloudwatch_event_rule.main : rule.arn] }
        }
      }],
    )
  })
}
