locals {
  entered = { for name, cluster in var.clusters : name => cluster if cluster.access_entries }

  function_entries = merge([
    for cluster in keys(local.entered) : {
      for function in keys(local.functions) : "${cluster}/${function}" => { cluster = cluster, function = function }
    }
  ]...)

  subnet_tags = merge([
    for cluster, settings in var.clusters : { for index, id in settings.subnet_ids : "${cluster}/${index}" => { cluster = cluster, id = id } }
  ]...)

  group_tags = merge([
    for cluster, settings in var.clusters : { for index, id in settings.security_group_ids : "${cluster}/${index}" => { cluster = cluster, id = id } }
  ]...)

  manifests = fileset("${path.module}/kubernetes", "*.yaml")
}

# A function is a group in the cluster; what the group may do stands in kubernetes/.
resource "aws_eks_access_entry" "function" {
  for_each = local.function_entries

  cluster_name      = each.value.cluster
  principal_arn     = aws_iam_role.function[each.value.function].arn
  kubernetes_groups = ["journeyman:${each.value.function}"]
  type              = "STANDARD"
  tags              = var.tags
}

# A role of one's own has an entry already, or nodes of it could not be there.
resource "aws_eks_access_entry" "node" {
  for_each = local.makes_node_role ? local.entered : {}

  cluster_name  = each.key
  principal_arn = aws_iam_role.node[0].arn
  type          = "EC2_LINUX"
  tags          = var.tags
}

resource "aws_ec2_tag" "subnet" {
  for_each = local.subnet_tags

  resource_id = each.value.id
  key         = "karpenter.sh/discovery"
  value       = each.value.cluster
}

resource "aws_ec2_tag" "security_group" {
  for_each = local.group_tags

  resource_id = each.value.id
  key         = "karpenter.sh/discovery"
  value       = each.value.cluster
}

# CRDs are only ever added to by an upgrade, and never deleted by Terraform: with them all nodes would go.
resource "terraform_data" "manifests" {
  for_each = var.apply_manifests ? var.clusters : {}

  triggers_replace = [each.key, sha256(join("", [for file in local.manifests : filesha256("${path.module}/kubernetes/${file}")]))]

  provisioner "local-exec" {
    interpreter = ["bash", "-euc"]
    command     = <<-EOT
      export KUBECONFIG="$(mktemp)"
      trap 'rm -f "$KUBECONFIG"' EXIT
      aws eks update-kubeconfig --region "$REGION" --name "$CLUSTER" >/dev/null
      kubectl apply --server-side --force-conflicts --kustomize "$MANIFESTS"
    EOT
    environment = {
      CLUSTER   = each.key
      REGION    = local.region
      MANIFESTS = "${path.module}/kubernetes"
    }
  }
}
