# Sourced by check and examples/emulated/try: finds Terraform and its provider; `init` makes a folder ready. Ends with 3, loudly,
# where they are missing; with CI=true that is a failure.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/journeyman"

missing() {
  if [[ "${CI:-}" == true ]]; then
    echo "infra/check: $1" >&2
    exit 1
  fi
  echo "INFRA: NOT CHECKED, $1" >&2
  exit 3
}

command -v terraform >/dev/null || missing "terraform is missing"
# A file that is named and isn't there would be warned of at each step.
if [[ -n "${TF_CLI_CONFIG_FILE:-}" && ! -e "$TF_CLI_CONFIG_FILE" ]]; then unset TF_CLI_CONFIG_FILE; fi
# One provider for all folders.
export TF_IN_AUTOMATION=true TF_DATA_DIR="$cache/terraform/data" CHECKPOINT_DISABLE=true
mkdir -p "$TF_DATA_DIR"

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

init() {
  local folder
  folder="$(plugins)"
  # The lock would name this machine's platform only.
  terraform init -backend=false -input=false -no-color ${folder:+-plugin-dir="$folder"} >"$cache/terraform/init" 2>&1 ||
    { cat "$cache/terraform/init" >&2; missing "the AWS provider can't be had: set TF_PLUGIN_DIR to where providers are unpacked"; }
}
