locals {
  # What the functions call from within a VPC. IAM and the Price List have endpoints in few Regions: without a way to them say
  # that the VPC is isolated and name spec.instanceProfile in EC2NodeClasses; on-demand prices stay those that are known.
  endpoint_services = {
    ec2      = "Interface"
    eks      = "Interface"
    ssm      = "Interface"
    sqs      = "Interface"
    events   = "Interface"
    s3       = "Gateway"
    dynamodb = "Gateway"
  }
  endpoints = try(var.vpc.endpoints, null)
}

resource "aws_vpc_endpoint" "main" {
  for_each = local.endpoints == null ? {} : local.endpoint_services

  vpc_id              = local.endpoints.vpc_id
  service_name        = "com.amazonaws.${local.region}.${each.key}"
  vpc_endpoint_type   = each.value
  private_dns_enabled = each.value == "Interface" ? true : null
  subnet_ids          = each.value == "Interface" ? var.vpc.subnet_ids : null
  security_group_ids  = each.value == "Interface" ? var.vpc.security_group_ids : null
  route_table_ids     = each.value == "Gateway" ? local.endpoints.route_table_ids : null
  tags                = merge(var.tags, { Name = "${var.name}-${each.key}" })
}
