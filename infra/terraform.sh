# Sourced by what runs Terraform: finds it and its provider; `init` makes a folder ready. Ends with 3, loudly, where they are
# missing; with CI=true that is a failure.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/journeyman"

# Whoever sources this may say it otherwise.
declare -F missing >/dev/null || missing() {
  if [[ "${CI:-}" == true ]]; then
    echo "infra: $1" >&2
    exit 1
  fi
  echo "INFRA: NOT CHECKED, $1" >&2
  exit 3
}

command -v terraform >/dev/null || missing "terraform is missing"
# A file that is named and isn't there would be warned of at each step.
if [[ -n "${TF_CLI_CONFIG_FILE:-}" && ! -e "$TF_CLI_CONFIG_FILE" ]]; then unset TF_CLI_CONFIG_FILE; fi
export TF_IN_AUTOMATION=true CHECKPOINT_DISABLE=true

# Where providers lie unpacked on this machine, if they do; else they come from the registry.
plugins() {
  local hoard
  # A hoard is what `terraform providers mirror` leaves: HOST/hashicorp/aws/VERSION/PLATFORM.
  for hoard in "${TF_PLUGIN_DIR:-}" "$HOME/.terraform.d/plugins" /usr/local/share/terraform/plugins /usr/share/terraform/plugins \
    /opt/* /opt/*/*; do
    if [[ -n "$hoard" ]] && compgen -G "$hoard/*.*/hashicorp/aws" >/dev/null; then
      echo "$hoard"
      return
    fi
  done
}

# What Terraform keeps of a folder lies outside of it, each folder's apart. A provider that comes from the registry is kept once.
init() {
  local folder said
  export TF_DATA_DIR="$cache/terraform/${PWD//\//_}" TF_PLUGIN_CACHE_DIR="${TF_PLUGIN_CACHE_DIR:-$cache/terraform/plugins}"
  mkdir -p "$TF_DATA_DIR" "$TF_PLUGIN_CACHE_DIR"
  folder="$(plugins)"
  # The lock would name this machine's platform only.
  said="$(terraform init -backend=false -input=false -no-color ${folder:+-plugin-dir="$folder"} 2>&1)" ||
    { echo "$said" >&2; missing "the AWS provider can't be had: set TF_PLUGIN_DIR to where providers are unpacked"; }
}
