# One deployment for three clusters of a Region.

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
  description = "The clusters' Region."
  type        = string
}

variable "alarm_topic" {
  description = "The SNS topic that alarms go to."
  type        = string
}

provider "aws" {
  region = var.region
}

module "journeyman" {
  source = "../.."

  package       = "${path.module}/../../../target/lambda"
  alarm_actions = [var.alarm_topic]
  functions     = { provision = { memory = 1769 } }
  clusters = {
    prod = { usd_per_node_hour = "0.02" }
    batch = {
      preference_policy = "Ignore"
      min_values_policy = "BestEffort"
    }
    dev = {}
  }
}
