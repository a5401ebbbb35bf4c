# Sourced by run and up: finds or makes the parts of the bench and names them in BENCH_*. Ends with 3, loudly, where a
# toolchain is missing; with CI=true that is a failure.
tests="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/journeyman"

missing() {
  if [[ "${CI:-}" == true ]]; then
    echo "end to end: $1" >&2
    exit 1
  fi
  echo "END TO END: NOT TESTED, $1" >&2
  exit 3
}

# made WHAT COMMAND: what the command prints, in `made`.
made() {
  local rc=0
  made="$("$2")" || rc=$?
  case $rc in
    0) ;;
    3) missing "$1 can't be built here" ;;
    *) exit $rc ;;
  esac
}

[[ "$(uname -s)" == Linux ]] || missing "the functions run as processes of this machine, which must be Linux"
made "the control plane" "$tests/control-plane/build.sh"
export BENCH_CONTROL_PLANE="$made"
made "AWS's emulator" "$tests/emulators/build.sh"
export BENCH_EMULATORS="$made"
# Here and not in the middle of a run: whether infra/ can be applied.
(
  source "$tests/../infra/terraform.sh"
  cd "$tests/../infra/examples/emulated"
  init
) || exit $?
if [[ -z "${BENCH_JOURNEYMAN:-}" ]]; then
  export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
  cargo build --quiet --workspace --features journeyman/aws --manifest-path "$tests/../Cargo.toml"
  export BENCH_JOURNEYMAN="$CARGO_TARGET_DIR/debug/journeyman"
fi
# Nothing of a person's own AWS account or cluster gets in.
unset "${!AWS_@}" KUBECONFIG
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
export PYTHONDONTWRITEBYTECODE=1
python="$BENCH_EMULATORS/ec2/bin/python"
