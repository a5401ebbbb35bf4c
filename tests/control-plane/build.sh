#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok from Go modules, once for each
# state of go.mod and go.sum, and prints the folder they are in. Cold it takes some 16 minutes of one core and 3 GB of
# memory; what is there is printed at once. JOBS bounds the compilers at a time (default: all cores).
#
# Go's own caches (GOCACHE, GOMODCACHE) stay where they are, so that a changed version compiles only what changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key="$(cat go.mod go.sum | sha256sum | cut -c1-16)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/journeyman/control-plane"
bin="$cache/$key"
mkdir -p "$cache"

# Two test runs that start at once: the second waits, then finds everything built.
exec 9>"$cache/.lock"
if command -v flock >/dev/null; then flock 9; fi
if [[ -e "$bin/complete" ]]; then
  echo "$bin"
  exit
fi

if ! command -v go >/dev/null; then
  echo "no Go: the control plane can't be built (https://go.dev/dl, at least $(sed -n 's/^go //p' go.mod))" >&2
  exit 3
fi

# Without a version the API server calls itself v0.0.0-master+$Format:%H$, which clients can't parse.
kubernetes="$(go list -m -f '{{.Version}}' k8s.io/kubernetes)"
IFS=. read -r major minor _ <<<"${kubernetes#v}"
version=k8s.io/component-base/version
jobs="${JOBS:-$(nproc)}"
rm -rf "$bin"
mkdir -p "$bin/stages"
GOMAXPROCS="$jobs" go build -p "$jobs" -mod=readonly -trimpath -buildvcs=false -o "$bin/" -ldflags "-s -w \
  -X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor \
  -X $version.gitCommit=modules -X $version.gitTreeState=clean" tool >&2
# Go names a program after its folder.
mv "$bin/server" "$bin/etcd"

# What a kubelet would do, as kwok's own stages: they are files beside its source and not in the program.
stages="$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage"
install -m 644 "$stages"/node/fast/node-*.yaml "$stages"/node/heartbeat-with-lease/node-*.yaml \
  "$stages"/node/chaos/node-not-ready.yaml "$stages"/pod/fast/pod-*.yaml "$bin/stages/"

touch "$bin/complete"
echo "$bin"
