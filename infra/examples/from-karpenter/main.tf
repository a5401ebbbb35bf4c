# Journeyman in Karpenter's place: NodePools, EC2NodeClasses, NodeClaims and nodes stay as they are.

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

variable "node_role_arn" {
  description = "The role that Karpenter's nodes have."
  type        = string
}

variable "enabled" {
  description = "Whether Journeyman decides: false until Karpenter has stopped."
  type        = bool
  default     = false
}

provider "aws" {
  region = var.region
}

module "journeyman" {
  source = "../.."

  package    = "${path.module}/../../../target/lambda"
  node_roles = [var.node_role_arn]
  clusters   = { (var.cluster) = { enabled = var.enabled } }
}
