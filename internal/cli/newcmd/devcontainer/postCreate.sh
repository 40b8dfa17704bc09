#!/usr/bin/env bash
# Made by ladder new devcontainer: from a new container to a cluster on which the
# platform converges. Run it again at any time: it goes on where it has stopped.
#
# Switches, set to 1 on the host or in the file .env; the host has the last word:
#   DEVCONTAINER_SKIP_WAVE_VALIDATION  does not prove the order before the bootstrap
#   DEVCONTAINER_SKIP_BOOTSTRAP        installs the tools and proves the order only
#   DEVCONTAINER_RESET_CLUSTER         deletes the cluster and makes it anew
#   DEVCONTAINER_SHOW_ADMIN_PASSWORD   prints the password of Argo CD's admin
#   DEVCONTAINER_SKIP_PORT_FORWARD     does not forward localhost:8443 to Argo CD
# .env also holds what the bootstrap needs, such as GITHUB_TOKEN. Never commit it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

platform={{.Platform}}
environment={{.Environment}}
config={{.Config}}
namespace={{.Namespace}}
k3d_version=v5.8.3

note() { printf 'postCreate: %s\n' "$*" >&2; }

# on reports whether a switch is on.
on() { [[ "${!1:-}" == 1 ]]; }

if [[ -f .env ]]; then
  host="$(export -p | grep -Ev '^declare -([a-z]*r|x PATH=|x [A-Za-z_][A-Za-z0-9_]*=""$)')"
  set -a
  # shellcheck source=/dev/null
  source .env
  set +a
  eval "$host"
fi

# Tools. The image and its features have the others.
if ! command -v k3d >/dev/null; then
  note "installing k3d $k3d_version"
  case "$(uname -m)" in
    aarch64 | arm64) arch=arm64 ;;
    *) arch=amd64 ;;
  esac
  download="$(mktemp)"
  curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$download" \
    "https://github.com/k3d-io/k3d/releases/download/$k3d_version/k3d-linux-$arch"
  sudo install -m 0755 "$download" /usr/local/bin/k3d
  rm -f "$download"
fi
if ! command -v ladder >/dev/null; then
  note "installing ladder, without the control plane of rehearsals, which takes minutes to compile"
  go install -tags kustomize_disable_go_plugin_support,noplane github.com/rollout-ladder/ladder/cmd/ladder@latest
  PATH="$(go env GOPATH)/bin:$PATH"
fi

# The order has to be right before anything is rolled out.
if on DEVCONTAINER_SKIP_WAVE_VALIDATION; then
  note "the order is not proved"
elif ! ladder lint "$platform" --environment "$environment" --format json --output "${TMPDIR:-/tmp}/ladder-lint.json"; then
  ladder lint "$platform" --environment "$environment" || true
  note "the order is wrong, so nothing is rolled out; DEVCONTAINER_SKIP_WAVE_VALIDATION=1 goes on all the same"
  exit 1
fi

# The cluster, Argo CD, its Secrets, projects and root.
if on DEVCONTAINER_SKIP_BOOTSTRAP; then
  note "there is no bootstrap"
  exit 0
fi
arguments=(--config "$config")
if on DEVCONTAINER_RESET_CLUSTER; then
  arguments+=(--reset-cluster)
fi
if on DEVCONTAINER_SHOW_ADMIN_PASSWORD; then
  arguments+=(--show-admin-password)
fi
ladder bootstrap "${arguments[@]}"

if ! on DEVCONTAINER_SKIP_PORT_FORWARD; then
  nohup kubectl --namespace "$namespace" port-forward service/argocd-server 8443:443 >"${TMPDIR:-/tmp}/argocd-port-forward.log" 2>&1 &
  note "Argo CD is at https://localhost:8443"
fi
