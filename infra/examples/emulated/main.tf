# The module against the emulators of tests/emulators, on 127.0.0.1: ./try applies and destroys it, tests/e2e works on it.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }
}

variable "ec2_url" {
  description = "Where EC2, IAM and EKS are answered."
  type        = string
}

variable "messages_url" {
  description = "Where everything else is answered."
  type        = string
}

variable "package" {
  description = "The folder with the functions' zips."
  type        = string
}

variable "cluster" {
  description = "The cluster's name."
  type        = string
  default     = "bench"
}

variable "enabled" {
  description = "Whether the schedules fire."
  type        = bool
  default     = true
}

variable "subnet_ids" {
  description = "Subnets to tag for discovery."
  type        = list(string)
  default     = []
}

variable "security_group_ids" {
  description = "Security groups to tag for discovery."
  type        = list(string)
  default     = []
}

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "AKIABENCH"
  secret_key                  = "bench"
  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true

  endpoints {
    cloudwatch = var.messages_url
    dynamodb   = var.messages_url
    events     = var.messages_url
    iam        = var.messages_url
    lambda     = var.messages_url
    logs       = var.messages_url
    s3         = var.messages_url
    scheduler  = var.messages_url
    sqs        = var.messages_url
    sts        = var.messages_url
    ec2        = var.ec2_url
    eks        = var.ec2_url
  }
}

module "journeyman" {
  source = "../.."

  package      = var.package
  architecture = "x86_64"
  # Neither emulator has access entries: the bench says itself who the functions are.
  clusters = {
    (var.cluster) = {
      access_entries     = false
      enabled            = var.enabled
      subnet_ids         = var.subnet_ids
      security_group_ids = var.security_group_ids
    }
  }
}

output "deployment" {
  description = "All that the module tells."
  value       = module.journeyman
}
