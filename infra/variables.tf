variable "clusters" {
  description = "EKS clusters to look after, by name. Subnets and security groups that are named get the tag karpenter.sh/discovery."
  type = map(object({
    subnet_ids         = optional(list(string), [])
    security_group_ids = optional(list(string), [])
    # Whether EKS access entries are made, for the functions and for the role that is made for nodes.
    access_entries    = optional(bool, true)
    preference_policy = optional(string, "Respect")
    min_values_policy = optional(string, "Strict")
    # What a node costs beside its instance, in dollars an hour.
    usd_per_node_hour = optional(string, "")
    # Whether kube-scheduler is told which nodes pods are planned for. Below Kubernetes 1.35 it doesn't listen.
    nominate_planned_pods = optional(bool, false)
    # false stops the cluster's schedules: nothing is decided any more, nothing is lost.
    enabled = optional(bool, true)
  }))
  validation {
    condition     = length(var.clusters) > 0
    error_message = "Name at least one cluster: clusters = { prod = {} }."
  }
  validation {
    condition     = alltrue([for cluster in var.clusters : contains(["Respect", "Ignore"], cluster.preference_policy)])
    error_message = "preference_policy is Respect or Ignore."
  }
  validation {
    condition     = alltrue([for cluster in var.clusters : contains(["Strict", "BestEffort"], cluster.min_values_policy)])
    error_message = "min_values_policy is Strict or BestEffort."
  }
}

variable "name" {
  description = "What everything's name begins with. Two deployments in one account need two names."
  type        = string
  default     = "journeyman"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,24}$", var.name))
    error_message = "Two to 25 lower-case letters, digits and hyphens, a letter first: role and bucket names are made of it."
  }
}

variable "package" {
  description = "The folder with NAME/bootstrap.zip of each function, as `just package` leaves it."
  type        = string
}

variable "architecture" {
  description = "What the zips are built for: arm64 or x86_64."
  type        = string
  default     = "arm64"
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "arm64 or x86_64."
  }
}

variable "linger" {
  description = "For how many seconds of each minute pending pods are watched for. 0 looks once a minute and costs least; 50 reacts within seconds."
  type        = number
  default     = 50
  validation {
    condition     = var.linger >= 0 && var.linger <= 800
    error_message = "0 to 800 seconds: a function runs for 15 minutes at most."
  }
}

variable "functions" {
  description = "Other memory (MB), timeouts (s) or log filters than the module's own, by function: { provision = { memory = 1769 } }."
  type = map(object({
    memory  = optional(number)
    timeout = optional(number)
    log     = optional(string)
  }))
  default = {}
  validation {
    condition     = length(setsubtract(keys(var.functions), ["provision", "lifecycle", "interruption", "disruption", "catalog"])) == 0
    error_message = "The functions are provision, lifecycle, interruption, disruption and catalog."
  }
}

variable "release" {
  description = "How a new version is brought in. `stable` names the versions that stay (the output `versions`), `weight` the share of invocations that the newest one gets; 0 with `stable` is a rollback. Without `stable` the newest version gets everything."
  type = object({
    stable = optional(map(string), {})
    weight = optional(number, 0)
  })
  default = {}
  validation {
    condition     = var.release.weight >= 0 && var.release.weight <= 1
    error_message = "weight is a share: 0 to 1."
  }
}

variable "node_roles" {
  description = "ARNs of the roles that nodes may have; their EKS access entries are yours to make. Empty: a role is made, named NAME-node-REGION, with its entries."
  type        = list(string)
  default     = []
}

variable "permissions_boundary" {
  description = "The ARN of a permissions boundary for all roles."
  type        = string
  default     = null
}

variable "vpc" {
  description = "Puts the functions into a VPC, for clusters with private endpoints. `endpoints` also makes the VPC endpoints that they need; `isolated` says that nothing else leads out, so that IAM and the Price List, which have none, are not called."
  type = object({
    subnet_ids         = list(string)
    security_group_ids = list(string)
    isolated           = optional(bool, false)
    endpoints = optional(object({
      vpc_id          = string
      route_table_ids = list(string)
    }))
  })
  default = null
}

variable "kms_key_arn" {
  description = "A customer-managed key for queues, table, bucket, logs and environment. Its policy must let events, scheduler, logs and SQS use it."
  type        = string
  default     = null
}

variable "retention" {
  description = "How many days logs and decision records are kept."
  type = object({
    logs    = optional(number, 30)
    records = optional(number, 30)
  })
  default = {}
}

variable "alarm_actions" {
  description = "ARNs that alarms tell, such as an SNS topic's."
  type        = list(string)
  default     = []
}

variable "parameter_arns" {
  description = "ARNs of SSM parameters of your own that EC2NodeClasses select images by."
  type        = list(string)
  default     = []
}

variable "apply_manifests" {
  description = "Whether `terraform apply` also runs kubectl: CRDs and RBAC of each cluster. Needs aws and kubectl on this machine. Else: kubectl apply --server-side -k infra/kubernetes."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of everything that is made here."
  type        = map(string)
  default     = {}
}
