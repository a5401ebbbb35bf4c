# Journeyman for an EKS cluster that is there, beside its node groups.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }
}

variable "cluster" {
  description = "The cluster's name."
  type        = string
}

variable "region" {
  description = "The cluster's Region."
  type        = string
}

provider "aws" {
  region = var.region
}

data "aws_eks_cluster" "main" {
  name = var.cluster
}

module "journeyman" {
  source = "../.."

  package = "${path.module}/../../../target/lambda"
  clusters = {
    (var.cluster) = {
      # The control plane's subnets; name others if nodes belong elsewhere.
      subnet_ids         = data.aws_eks_cluster.main.vpc_config[0].subnet_ids
      security_group_ids = [data.aws_eks_cluster.main.vpc_config[0].cluster_security_group_id]
    }
  }
}

output "node_role" {
  description = "For spec.role of EC2NodeClasses."
  value       = module.journeyman.node_role
}
