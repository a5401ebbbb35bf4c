# An EKS cluster that starts with no node at all, and Journeyman. CoreDNS is the first to get one.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }
}

variable "region" {
  description = "Where everything is made."
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "The cluster's name."
  type        = string
  default     = "journeyman-minimal"
}

provider "aws" {
  region = var.region
}

data "aws_availability_zones" "here" {
  # checkov:skip=CKV_AWS_394: the first three by name are taken, whatever is added
  state = "available"
  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

resource "aws_vpc" "main" {
  # checkov:skip=CKV2_AWS_11: an example to take down again; flow logs cost more than it
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_default_security_group" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id
}

# Public subnets, without a NAT gateway: that would cost more than all else here. In production nodes belong into private ones.
resource "aws_subnet" "main" {
  # checkov:skip=CKV_AWS_130: public, for a NAT gateway would cost more than all else here
  count = 3

  vpc_id                  = aws_vpc.main.id
  availability_zone       = data.aws_availability_zones.here.names[count.index]
  cidr_block              = cidrsubnet(aws_vpc.main.cidr_block, 4, count.index)
  map_public_ip_on_launch = true
  tags                    = { Name = "${var.name}-${count.index}", "karpenter.sh/discovery" = var.name }
}

resource "aws_route_table" "main" {
  vpc_id = aws_vpc.main.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }
}

resource "aws_route_table_association" "main" {
  count = 3

  subnet_id      = aws_subnet.main[count.index].id
  route_table_id = aws_route_table.main.id
}

resource "aws_iam_role" "cluster" {
  name = "${var.name}-cluster"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "eks.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy_attachment" "cluster" {
  role       = aws_iam_role.cluster.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
}

# With the add-ons that EKS installs by itself (VPC CNI, kube-proxy, CoreDNS): managed ones would wait for nodes that wait for them.
resource "aws_eks_cluster" "main" {
  # checkov:skip=CKV_AWS_37: an example to take down again
  # checkov:skip=CKV_AWS_38: whoever tries it comes from anywhere
  # checkov:skip=CKV_AWS_39: whoever tries it comes from anywhere
  # checkov:skip=CKV_AWS_58: an example without secrets
  name     = var.name
  role_arn = aws_iam_role.cluster.arn

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  vpc_config {
    subnet_ids              = aws_subnet.main[*].id
    endpoint_private_access = true
    endpoint_public_access  = true
  }

  depends_on = [aws_iam_role_policy_attachment.cluster]
}

module "journeyman" {
  source = "../.."

  package         = "${path.module}/../../../target/lambda"
  apply_manifests = true
  clusters = {
    (aws_eks_cluster.main.name) = {
      security_group_ids = [aws_eks_cluster.main.vpc_config[0].cluster_security_group_id]
    }
  }
}

output "next" {
  description = "What to type now."
  value       = <<-EOT
    aws eks update-kubeconfig --region ${var.region} --name ${var.name}
    sed 's/CLUSTER/${var.name}/; s/ROLE/${module.journeyman.node_role}/' nodepool.yaml | kubectl apply -f -
    kubectl get nodeclaims,nodes,pods -A --watch
  EOT
}

output "bucket" {
  description = "What must be emptied before it can be destroyed."
  value       = module.journeyman.bucket
}
