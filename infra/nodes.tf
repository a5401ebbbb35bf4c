locals {
  makes_node_role = length(var.node_roles) == 0
  node_role_arns  = local.makes_node_role ? [aws_iam_role.node[0].arn] : var.node_roles
}

resource "aws_iam_role" "node" {
  count = local.makes_node_role ? 1 : 0

  name                 = "${var.name}-node-${local.region}"
  description          = "Nodes that Journeyman launches"
  permissions_boundary = var.permissions_boundary
  tags                 = var.tags
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = local.makes_node_role ? toset([
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
  ]) : toset([])

  role       = aws_iam_role.node[0].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/${each.key}"
}

# For EC2NodeClasses with spec.instanceProfile; those with spec.role get profiles of their own.
resource "aws_iam_instance_profile" "node" {
  count = local.makes_node_role ? 1 : 0

  name = "${var.name}-node-${local.region}"
  role = aws_iam_role.node[0].name
  tags = var.tags
}
