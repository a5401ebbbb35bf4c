output "queue_urls" {
  description = "Queues by role, those for messages that were given up as ROLE-dead."
  value = merge(
    { for role, queue in aws_sqs_queue.main : role => queue.url },
    { for role, queue in aws_sqs_queue.dead : "${role}-dead" => queue.url },
  )
}

output "table" {
  description = "The table of what is not to be bought for a while."
  value       = aws_dynamodb_table.main.name
}

output "bucket" {
  description = "The bucket of the catalogue and the decision records."
  value       = aws_s3_bucket.main.bucket
}

output "functions" {
  description = "Functions by name: what to invoke, with the alias that works."
  value       = { for name, alias in aws_lambda_alias.main : name => alias.arn }
}

output "function_roles" {
  description = "The role of each function."
  value       = { for name, role in aws_iam_role.function : name => role.arn }
}

output "versions" {
  description = "Newest version of each function: what `release.stable` is given before the next one comes."
  value       = local.newest
}

output "node_role" {
  description = "The name of the role for spec.role of EC2NodeClasses."
  value       = element(split("/", local.node_role_arns[0]), length(split("/", local.node_role_arns[0])) - 1)
}

output "instance_profile" {
  description = "A profile with that role, for spec.instanceProfile; none if the role is yours."
  value       = one(aws_iam_instance_profile.node[*].name)
}

output "environment" {
  description = "The functions' environment; `journeyman run` and `journeyman doctor` take the same."
  value       = local.environment
}

output "vpc_endpoints_needed" {
  description = "Services that functions in a VPC without a way out need endpoints for."
  value       = [for service in keys(local.endpoint_services) : "com.amazonaws.${local.region}.${service}"]
}
