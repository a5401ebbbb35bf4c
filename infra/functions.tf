resource "aws_cloudwatch_log_group" "main" {
  for_each = local.functions

  name              = "/aws/lambda/${var.name}-${each.key}"
  retention_in_days = var.retention.logs
  kms_key_id        = var.kms_key_arn
  tags              = var.tags
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name                 = "${var.name}-${each.key}-${local.region}"
  description          = "Journeyman's function ${each.key}"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name   = each.key
  role   = aws_iam_role.function[each.key].id
  policy = templatefile("${path.module}/policies/${each.key}.json", local.placeholders)
}

resource "aws_iam_role_policy" "common" {
  for_each = local.functions

  name = "common"
  role = aws_iam_role.function[each.key].id
  policy = templatefile("${path.module}/policies/common.json", merge(local.placeholders, {
    log_group_arn = aws_cloudwatch_log_group.main[each.key].arn
  }))
}

resource "aws_iam_role_policy" "kms" {
  for_each = var.kms_key_arn == null ? {} : local.functions

  name   = "key"
  role   = aws_iam_role.function[each.key].id
  policy = templatefile("${path.module}/policies/kms.json", { kms_key_arn = var.kms_key_arn })
}

resource "aws_iam_role_policy" "network" {
  for_each = var.vpc == null ? {} : local.functions

  name = "network"
  role = aws_iam_role.function[each.key].id
  policy = templatefile("${path.module}/policies/network.json", merge(local.placeholders, {
    function_arn = "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${var.name}-${each.key}"
  }))
}

resource "aws_lambda_function" "main" {
  for_each = local.functions

  function_name    = "${var.name}-${each.key}"
  description      = "Journeyman: ${each.key}"
  role             = aws_iam_role.function[each.key].arn
  filename         = "${var.package}/${each.key}/bootstrap.zip"
  source_code_hash = try(filebase64sha256("${var.package}/${each.key}/bootstrap.zip"), null)
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  architectures    = [var.architecture]
  memory_size      = local.settings[each.key].memory
  timeout          = local.settings[each.key].timeout
  kms_key_arn      = var.kms_key_arn
  # Each change is a version; the alias says which one works.
  publish = true
  tags    = var.tags

  environment {
    variables = merge(local.environment, { RUST_LOG = local.settings[each.key].log })
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.main[each.key].name
  }

  dynamic "vpc_config" {
    for_each = var.vpc == null ? [] : [var.vpc]
    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  lifecycle {
    precondition {
      condition     = fileexists("${var.package}/${each.key}/bootstrap.zip")
      error_message = "${var.package}/${each.key}/bootstrap.zip is missing: run `just package` first, or set `package` to where the zips are."
    }
  }

  depends_on = [aws_iam_role_policy.function, aws_iam_role_policy.common, aws_iam_role_policy.network, aws_iam_role_policy.kms]
}

locals {
  newest = { for name, function in aws_lambda_function.main : name => function.version }
  stable = { for name, version in local.newest : name => lookup(var.release.stable, name, version) }
}

resource "aws_lambda_alias" "main" {
  for_each = local.functions

  name             = "live"
  description      = "The version that works"
  function_name    = aws_lambda_function.main[each.key].function_name
  function_version = local.stable[each.key]

  dynamic "routing_config" {
    for_each = var.release.weight > 0 && contains(keys(var.release.stable), each.key) ? [var.release.weight] : []
    content {
      additional_version_weights = { (local.newest[each.key]) = routing_config.value }
    }
  }
}

resource "aws_lambda_event_source_mapping" "main" {
  for_each = { for name, function in local.functions : name => function if function.queue != null }

  event_source_arn        = aws_sqs_queue.main[each.value.queue].arn
  function_name           = aws_lambda_alias.main[each.key].arn
  batch_size              = each.value.batch
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = var.tags

  depends_on = [aws_iam_role_policy.function]
}

# The next schedule comes before a retry would.
resource "aws_lambda_function_event_invoke_config" "main" {
  for_each = { for name, look in local.looks : name => look if look.queue == null }

  function_name                = aws_lambda_function.main[each.key].function_name
  qualifier                    = aws_lambda_alias.main[each.key].name
  maximum_event_age_in_seconds = 60
  maximum_retry_attempts       = 0
}
