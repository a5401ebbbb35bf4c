plugin "terraform" {
  enabled = true
  preset  = "all"
}

# Files are named by what they are about, not by Terraform's custom.
rule "terraform_standard_module_structure" {
  enabled = false
}
