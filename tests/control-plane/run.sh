#!/usr/bin/env bash
# Runs a Kubernetes control plane on 127.0.0.1 until it is told to end: tests/control-plane/run.sh DIR
#
# DIR takes state, logs and kubeconfigs, and is emptied first. Once DIR/ready exists:
#     KUBECONFIG=DIR/admin.kubeconfig DIR/bin/kubectl get nodes
# DIR/NAME.kubeconfig exists for admin, for each function of Journeyman (user journeyman:NAME, without rights until
# RBAC gives them some) and for tester. DIR/audit.log has a line for each request that a journeyman:* user made.
#
# From the environment: KUBE_BIN (default: what build.sh prints), KUBE_PORT (default: a free one), and further flags,
# split at spaces, in API_FLAGS, KCM_FLAGS, SCHEDULER_FLAGS and KWOK_FLAGS. A file DIR.authenticator, where there is
# one, is the kubeconfig of a webhook that is asked about tokens the API server doesn't know.
#
# How it differs from EKS: kubelets are kwok's, so no container runs; no cloud-controller-manager, no kube-proxy, no
# add-ons; no admission plugin ServiceAccount, so that pods can be made before their namespace's account exists.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
[[ $# == 1 ]] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

functions=(provision lifecycle interruption disruption catalog)
bin="${KUBE_BIN:-$("$here/build.sh")}"
umask 077
rm -rf "$1"
mkdir -p "$1/log"
dir="$(cd "$1" && pwd)"
authenticator="$dir.authenticator"
cd "$dir"
ln -s "$bin" bin

# Where Linux has it, a process ends with its parent even if that is killed by signal 9.
guard=()
if command -v setpriv >/dev/null; then guard=(setpriv --pdeathsig KILL); fi

# The state is thrown away, so it ends with KILL: on TERM the API server waits some 20 s for an etcd that has gone.
pids=()
end() {
  trap - EXIT
  rm -f ready
  kill -KILL "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
}
trap end EXIT
trap 'exit 0' TERM INT

start() {
  local name="$1"
  shift
  "${guard[@]}" "$bin/$name" "$@" >"log/$name.log" 2>&1 &
  pids+=($!)
  echo $! >"$name.pid"
}

# Waits until a command succeeds, for three minutes at most and as long as the process started last lives.
await() {
  local name="$1" _
  shift
  for _ in {1..1800}; do
    if "$@" >/dev/null 2>&1; then return; fi
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "$name did not get ready:" >&2
  tail -n 20 "log/$name.log" >&2
  exit 1
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

random() {
  openssl rand -hex 16
}

port="${KUBE_PORT:-$(free_port)}"
peer="$(free_port)"

# token,user,uid,group: as the API server reads it; the uid also names the kubeconfig.
{
  echo "$(random),admin,admin,system:masters"
  echo "$(random),kube-controller-manager,kube-controller-manager,system:masters"
  echo "$(random),system:kube-scheduler,kube-scheduler,"
  echo "$(random),kwok,kwok,system:masters"
  for function in "${functions[@]}"; do
    echo "$(random),journeyman:$function,$function,"
  done
  echo "$(random),tester,tester,"
} >tokens.csv

{
  printf '%s\n' "apiVersion: audit.k8s.io/v1" "kind: Policy" "omitStages: [RequestReceived]" "rules:"
  for function in "${functions[@]}"; do
    echo "- {level: Metadata, users: ['journeyman:$function']}"
  done
  echo "- {level: None}"
} >audit.yaml

# PKCS#8, which genpkey writes, is not read by the API server.
openssl ecparam -name prime256v1 -genkey -noout -out service-account.key

webhook=()
if [[ -e "$authenticator" ]]; then
  webhook=(--authentication-token-webhook-config-file "$authenticator" --authentication-token-webhook-version v1)
fi

# A unix socket's path has at most 107 bytes, so DIR must not lie deep.
start etcd --data-dir etcd --unsafe-no-fsync --log-level warn \
  --listen-client-urls "unix://$dir/etcd.sock" --advertise-client-urls "unix://$dir/etcd.sock" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "default=http://127.0.0.1:$peer"
# shellcheck disable=SC2086
start kube-apiserver --etcd-servers "unix://$dir/etcd.sock" --cert-dir certs \
  --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$port" --endpoint-reconciler-type none \
  --token-auth-file tokens.csv "${webhook[@]}" --anonymous-auth=false --authorization-mode RBAC \
  --service-cluster-ip-range 10.100.0.0/16 --disable-admission-plugins ServiceAccount \
  --service-account-issuer https://kubernetes.default.svc \
  --service-account-signing-key-file service-account.key --service-account-key-file service-account.key \
  --audit-policy-file audit.yaml --audit-log-path audit.log ${API_FLAGS:-}
await kube-apiserver test -s certs/apiserver.crt

# The file holds the leaf and the authority that the API server made for itself.
while IFS=, read -r token _ name _; do
  cat >"$name.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: "https://127.0.0.1:$port", certificate-authority: "$dir/certs/apiserver.crt"}}]
users: [{name: "$name", user: {token: "$token"}}]
contexts: [{name: bench, context: {cluster: bench, user: "$name"}}]
current-context: bench
YAML
done <tokens.csv

await kube-apiserver "$bin/kubectl" --kubeconfig admin.kubeconfig get --raw /readyz

# Without wider limits the controllers make 20 pods a second and tests wait for them.
# shellcheck disable=SC2086
start kube-controller-manager --kubeconfig kube-controller-manager.kubeconfig --leader-elect=false --secure-port 0 \
  --service-account-private-key-file service-account.key --kube-api-qps 200 --kube-api-burst 400 ${KCM_FLAGS:-}
# shellcheck disable=SC2086
start kube-scheduler --kubeconfig kube-scheduler.kubeconfig --leader-elect=false --secure-port 0 \
  --kube-api-qps 200 --kube-api-burst 400 ${SCHEDULER_FLAGS:-}
stages=()
for stage in "$bin"/stages/*.yaml; do
  stages+=(--config "$stage")
done
# shellcheck disable=SC2086
start kwok --kubeconfig kwok.kubeconfig --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
  --node-lease-duration-seconds 40 ${KWOK_FLAGS:-} "${stages[@]}"

date +%s.%N >ready
wait -n "${pids[@]}"
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do
  kill -0 "$(cat "$name.pid")" 2>/dev/null || { echo "$name ended:"; tail -n 20 "log/$name.log"; } >&2
done
exit 1
