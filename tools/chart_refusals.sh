# Values that the chart refuses, and what it says then.
# shellcheck shell=bash

# refuses TEXT ARGUMENT...: rendering with these arguments fails, and the message has the text. What they
# are about is not access, which the chart asks for first.
refuses() {
  local text=$1 message
  shift
  if message=$(chart_render "$CHART" --set insecure=true "$@" 2>&1); then
    wrong "the chart takes $*"
    return
  fi
  CHART_REFUSED=$((CHART_REFUSED + 1))
  [[ $message == *"$text"* ]] || wrong "of $* the chart says '$message' instead of '$text'"
}

# takes ARGUMENT...: rendering with these arguments succeeds.
takes() {
  local message
  message=$(chart_render "$CHART" --set insecure=true "$@" 2>&1) || wrong "the chart refuses $*: $message"
}

# Next to what it refuses.
takes_what_is_right() {
  local dsn='config.targets[0].name=a,config.targets[0].primary.dsn'
  takes --set persistence.size=1.5Ti --set config.throttle_log.max_bytes=1099511627776
  takes --set persistence.size=1Gi --set persistence.existingClaim=a
  takes --set persistence.size=200Mi --set config.throttle_log.postgres.dsn_env=LOG
  takes --set "$dsn=postgresql://user@a:5432/app?sslmode=require"
  takes --set "$dsn=host=a passfile=/run/secrets/pass"
  takes --set 'extraArgs={--grace=5s,--pre-stop=5s,--reflection=false}'
  takes --set 'extraEnv[0].name=HEADGATE_GRACE' --set 'extraEnv[0].value=25s'
  takes --set server.listenHost=fd00::1 --set service.type=NodePort \
    --set service.externalTrafficPolicy=Local --set 'networkPolicy.callers[0].ipBlock.cidr=10.0.0.0/8'
  takes --set service.type=LoadBalancer --set networkPolicy.enabled=false
  takes --set insecure=false --values "$CHART/ci/mtls.yaml"
  takes --set insecure=false --values "$CHART/ci/tls.yaml"
  takes --set prometheusRule.enabled=true --set prometheusRule.runbookBaseUrl=null
  # shellcheck disable=SC2016
  takes --set 'server.listenHost=$(POD_IP)'
  takes --set serviceMonitor.enabled=true --set serviceMonitor.interval=1m \
    --set serviceMonitor.scrapeTimeout=60s
}

refuses_wrong_shapes() {
  refuses "at '/replicaCount': maximum: got 2, want 1" --set replicaCount=2
  refuses "at '/replicaCount': minimum: got 0, want 1" --set replicaCount=0
  refuses "additional properties 'replicas' not allowed" --set replicas=1
  refuses "at '/tls': additional properties 'enable' not allowed" --set tls.enable=true
  refuses "at '/tls/enabled': got string, want boolean" --set-string tls.enabled=true
  refuses "at '/tls/clientCertificates': value must be one of 'REQUIRE', 'OPTIONAL'" \
    --set tls.clientCertificates=MAYBE
  refuses "at '/image/digest': 'abc' does not match pattern" --set image.digest=abc
  refuses "at '/image/repository': minLength: got 0, want 1" --set image.repository=
  refuses "at '/service/type': value must be one of" --set service.type=Headless
  refuses "at '/service/grpcPort': maximum: got 70,000, want 65,535" --set service.grpcPort=70000
  refuses "at '/service/httpPort': got string, want integer" --set-string service.httpPort=8080
  refuses "at '/persistence/size': 'much' does not match pattern" --set persistence.size=much
  refuses "at '/persistence/accessMode': value must be one of" --set persistence.accessMode=RWO
  refuses "at '/server/logLevel': value must be one of" --set server.logLevel=verbose
  refuses "at '/server/readyAfter': '30' does not match pattern" --set-string server.readyAfter=30
  refuses "at '/terminationGracePeriodSeconds': minimum: got 5, want 15" \
    --set terminationGracePeriodSeconds=5
  refuses "at '/security/runAsUser': minimum: got 0, want 1" --set security.runAsUser=0
  refuses "at '/security': additional properties 'privileged' not allowed" \
    --set security.privileged=true
  refuses "at '/postgres/existingSecret': 'My Secret' does not match pattern" \
    --set 'postgres.existingSecret=My Secret'
  refuses "at '/config': got string, want object" --set-string config=rules
  refuses "at '/extraArgs/0': 'reflection' does not match pattern" --set 'extraArgs[0]=reflection'
  refuses "at '/podDisruptionBudget': additional properties 'minAvailable' not allowed" \
    --set podDisruptionBudget.minAvailable=3
  refuses "at '/podDisruptionBudget/maxUnavailable'" --set podDisruptionBudget.maxUnavailable=0
  refuses "at '/podDisruptionBudget/maxUnavailable'" --set podDisruptionBudget.maxUnavailable=0%
  refuses "at '/updateStrategy/type': value must be one of 'RollingUpdate', 'OnDelete'" \
    --set updateStrategy.type=Recreate
  refuses "at '/minReadySeconds': minimum: got -1, want 0" --set minReadySeconds=-1
  refuses "at '/configCheck/timeoutSeconds': minimum: got 1, want 10" --set configCheck.timeoutSeconds=1
  refuses "at '/extraContainers/0': missing property 'image'" --set 'extraContainers[0].name=a'
  refuses "at '/extraInitContainers/0': missing property 'name'" --set 'extraInitContainers[0].image=a'
  refuses "at '/extraObjects/0': got number, want string or object" --set 'extraObjects[0]=1'
  refuses "at '/insecure': got string, want boolean" --set-string insecure=true
  refuses "at '/tls/certManager/duration': '90d' does not match pattern" --set tls.certManager.duration=90d
  refuses "at '/probes/liveness': additional properties 'httpGet' not allowed" \
    --set probes.liveness.httpGet.path=/
  refuses "at '/serviceMonitor/interval': 'often' does not match pattern" \
    --set serviceMonitor.interval=often
}

# A section whose lines are all commented out is null, and would take the defaults with it.
refuses_empty_sections() {
  local section
  for section in image cluster config configCheck networkPolicy server postgres tls tokens service persistence \
    resources updateStrategy minReadySeconds podDisruptionBudget probes security serviceAccount commonLabels tests; do
    refuses "missing property '$section'" --set "$section=null"
  done
  refuses "at '/tls': missing property 'clientCa'" --set tls.clientCa=null
  refuses "at '/probes': missing property 'liveness'" --set probes.liveness=null
  refuses "at '/persistence': missing property 'keep'" --set persistence.keep=null
  refuses "at '/service': missing property 'grpcPort'" --set service.grpcPort=null
}

# They become the name of a Service.
refuses_wrong_names() {
  refuses "at '/fullnameOverride': '1st' does not match pattern" --set fullnameOverride=1st
  refuses "at '/fullnameOverride': 'a.b' does not match pattern" --set fullnameOverride=a.b
  refuses "at '/nameOverride': 'Gate' does not match pattern" --set nameOverride=Gate
}

refuses_callers_that_nobody_is() {
  local callers='config.access.callers[0]'
  local tls=(--set tls.enabled=true --set tls.existingSecret=a)
  refuses "job has a certificate, which takes tls.clientCa" "${tls[@]}" \
    --set "$callers.name=job" --set "$callers.certificate=DNS:job"
  refuses "sre has a token, which takes tokens.existingSecret" "${tls[@]}" \
    --set "$callers.name=sre" --set "$callers.token=sre"
}

refuses_too_little_time_to_stop() {
  local seconds=terminationGracePeriodSeconds
  refuses "the server may take 35 s to stop" --set $seconds=34 --set 'extraArgs[0]=--grace=30s'
  refuses "the server may take 95 s to stop" --set $seconds=30 --set 'extraArgs[0]=--grace=1m30s'
  refuses "the server may take 31 s to stop" --set $seconds=30 --set 'extraArgs[0]=--pre-stop=16s'
  refuses "the server may take 32 s to stop" --set $seconds=31 --set 'extraArgs[0]=--pre-stop=16001ms'
}

# A time that nobody has set is long enough, and no reason to refuse anything.
gives_time_to_stop() { # gives_time_to_stop SECONDS ARGUMENT...
  local seconds=$1 given
  shift
  given=$(chart_render "$CHART" --set insecure=true --show-only templates/statefulset.yaml "$@" |
    sed -n 's/^ *terminationGracePeriodSeconds: //p') || true
  [[ $given == "$seconds" ]] || wrong "with $* a server gets '$given' seconds to stop, and not $seconds"
}

check_time_to_stop() {
  local cluster=(--values "$CHART/ci/three-servers.yaml")
  gives_time_to_stop 30
  gives_time_to_stop 30 --set 'extraArgs[0]=--grace=25s'
  gives_time_to_stop 95 --set 'extraArgs[0]=--grace=1m30s'
  gives_time_to_stop 125 --set 'extraEnv[0].name=HEADGATE_GRACE' --set 'extraEnv[0].value=120s'
  gives_time_to_stop 20 --set terminationGracePeriodSeconds=20
  gives_time_to_stop 31 "${cluster[@]}"
  gives_time_to_stop 31 "${cluster[@]}" --set cluster.lease=3s
  gives_time_to_stop 31 "${cluster[@]}" --set cluster.lease=1s
  gives_time_to_stop 45 "${cluster[@]}" --set cluster.lease=1m
  gives_time_to_stop 45 "${cluster[@]}" --set cluster.lease=60s
  gives_time_to_stop 55 "${cluster[@]}" --set cluster.lease=60s --set 'extraArgs[0]=--grace=15s'
}

refuses_time_to_stop_from_variables() {
  local name='extraEnv[0].name' seconds=terminationGracePeriodSeconds
  refuses "the server may take 125 s to stop" --set $seconds=30 --set "$name=HEADGATE_GRACE" \
    --set 'extraEnv[0].value=120s'
  refuses "the server may take 55 s to stop" --set $seconds=30 --set "$name=HEADGATE_PRE_STOP" \
    --set 'extraEnv[0].value=40s'
  refuses "HEADGATE_GRACE has a value that the chart cannot see; give --grace=DURATION in extraArgs" \
    --set "$name=HEADGATE_GRACE" --set 'extraEnv[0].valueFrom.configMapKeyRef.name=a'
}

# The server ends where a flag is there twice.
refuses_flags_of_its_own() {
  local flag
  refuses "extraArgs: the chart writes --config; set config instead" --set 'extraArgs[0]=--config=/a'
  refuses "extraArgs: the chart writes --state-dir; set persistence instead" \
    --set 'extraArgs[0]=--state-dir=/a'
  refuses "extraArgs: the chart writes --log-level; set server.logLevel instead" \
    --set 'extraArgs[0]=--log-level=debug'
  while read -r flag; do
    refuses "extraArgs: the chart writes $flag; set " --set "extraArgs[0]=$flag=1"
  done < <(chart_render "$CHART" --set insecure=true --set tls.enabled=true --set tls.existingSecret=a \
    --show-only templates/statefulset.yaml | sed -n 's/^            - \(--[a-z-]*\)=.*/\1/p' |
    grep --invert-match --line-regexp -e --check-config | sort --unique)
  refuses "extraArgs: --grace is there twice" --set 'extraArgs={--grace=1s,--grace=2s}'
  refuses "extraArgs: with --check-config the server ends at once" \
    --set 'extraArgs[0]=--check-config=/a'
}

refuses_addresses_that_nobody_reaches() {
  local host
  for host in 127.0.0.1 127.1.2.3 localhost ::1 '[::1]'; do
    refuses "server.listenHost: $host is the pod's own loopback" --set "server.listenHost=$host"
  done
  refuses "at '/server/listenHost': '0.0.0.0:80' does not match pattern" \
    --set server.listenHost=0.0.0.0:80
  refuses "service.externalTrafficPolicy takes service.type NodePort or LoadBalancer" \
    --set service.externalTrafficPolicy=Local
  refuses "service.loadBalancerSourceRanges takes service.type LoadBalancer" \
    --set service.type=NodePort --set 'service.loadBalancerSourceRanges={10.0.0.0/8}'
  refuses "networkPolicy.callers is empty: service.type NodePort is for callers from outside" \
    --set service.type=NodePort
  refuses "at '/service/loadBalancerSourceRanges/0': '10.0.0.1' does not match pattern" \
    --set service.type=LoadBalancer --set 'service.loadBalancerSourceRanges={10.0.0.1}'
}

# What the operator's own schema would refuse, or Prometheus.
refuses_wrong_scrapes() {
  refuses "at '/serviceMonitor/interval': '1.5s' does not match pattern" \
    --set serviceMonitor.interval=1.5s
  refuses "serviceMonitor.scrapeTimeout: 1m30s is longer than serviceMonitor.interval, 1m" \
    --set serviceMonitor.enabled=true --set serviceMonitor.interval=1m \
    --set serviceMonitor.scrapeTimeout=1m30s
  refuses "at '/prometheusRule/runbookBaseUrl': 'git.example.com' does not match pattern" \
    --set prometheusRule.runbookBaseUrl=git.example.com
}

refuses_a_volume_too_small() {
  refuses "persistence.size: 1Gi is less than the 1107 MiB that config.throttle_log.max_bytes (1024" \
    --set persistence.size=1Gi
  refuses "persistence.size: 2Gi is less than the 2131 MiB" \
    --set config.throttle_log.max_bytes=2147483648
  refuses "persistence.size: 2Gi is less than the" --set config.engine.max_permits=16777216
  # The kubelet ends a pod that takes more of the node's disk than it said.
  refuses "persistence.size: 1Gi is less than the 1107 MiB" --set persistence.enabled=false \
    --set persistence.size=1Gi
}

refuses_passwords() {
  local dsn='config.targets[0].name=a,config.targets[0].primary.dsn'
  local text="config has a dsn with a password"
  refuses "$text" --set "$dsn=host=a password=secret"
  refuses "$text" --set "$dsn=host=a PassWord = 'a b'"
  refuses "$text" --set "$dsn=postgresql://user:secret@a/app"
  refuses "$text" --set "$dsn=postgres://a/app?password=secret"
  refuses "$text" --set 'config.targets[0].name=a' \
    --set 'config.targets[0].standbys[0].name=b' \
    --set 'config.targets[0].standbys[0].connection.dsn=host=a password=secret'
}

refuses_contradictions() {
  local tls=(--set tls.enabled=true --set tls.existingSecret=a)
  refuses "tls.enabled takes tls.existingSecret" --set tls.enabled=true
  refuses "tls.existingSecret is set, but tls.enabled is false" --set tls.existingSecret=a
  refuses "tls.clientCa takes tls.enabled" --set tls.clientCa.existingSecret=ca
  refuses "tls.clientCa: give existingSecret or existingConfigMap, not both" "${tls[@]}" \
    --set tls.clientCa.existingSecret=ca --set tls.clientCa.existingConfigMap=ca
  refuses "tokens.existingSecret takes tls.enabled" --set tokens.existingSecret=a
  refuses "tokens.existingSecret takes config.access.callers" "${tls[@]}" \
    --set tokens.existingSecret=a
  refuses "service.grpcPort and service.httpPort are the same port" --set service.grpcPort=8080
  refuses "persistence.existingClaim is set, but persistence.enabled is false" \
    --set persistence.enabled=false --set persistence.existingClaim=a
  refuses "tls.certManager.enabled takes tls.enabled" --set tls.certManager.enabled=true
  refuses "tls: give existingSecret or certManager.enabled, not both" "${tls[@]}" \
    --set tls.certManager.enabled=true
  refuses "tls.certManager.enabled takes tls.certManager.issuerRef.name" --set tls.enabled=true \
    --set tls.certManager.enabled=true
}

# Several servers, and what they take.
refuses_servers_that_share_nothing() {
  local file=$CHART/ci/three-servers.yaml lease
  takes --values "$file" --set replicaCount=1 --set insecure=false
  takes --values "$file" --set networkPolicy.egress=null --set networkPolicy.store=null
  takes --values "$file" --set terminationGracePeriodSeconds=45 --set cluster.lease=1m
  refuses "at '/replicaCount': maximum: got 3, want 1" --values "$file" --set cluster.store.existingSecret= \
    --set cluster.secret.existingSecret=
  refuses "at '/replicaCount': maximum: got 3, want 1" --set replicaCount=3 --set cluster.secret.existingSecret=a
  refuses "cluster.store takes cluster.secret.existingSecret" --values "$file" --set cluster.secret.existingSecret=
  refuses "cluster.secret takes cluster.store.existingSecret" --set cluster.secret.existingSecret=a
  refuses "cluster.store takes tls.enabled and tls.clientCa" --values "$file" --set tls.clientCa.existingSecret=
  refuses "cluster.store takes config.targets" --values "$file" --set config.targets=null
  refuses "cluster.store takes persistence.enabled: false" --values "$file" --set persistence.enabled=true
  refuses "say in networkPolicy.store where cluster.store is" --values "$file" --set networkPolicy.store=null
  refuses "networkPolicy.store takes cluster.store.existingSecret" --set 'networkPolicy.store[0].ports[0].port=5432'
  refuses "the server may take 31 s to stop" --values "$file" --set terminationGracePeriodSeconds=30
  refuses "the server may take 45 s to stop" --values "$file" --set terminationGracePeriodSeconds=44 \
    --set cluster.lease=1m
  takes --values "$file" --set cluster.lease=3s
  takes --values "$file" --set cluster.lease=1000ms
  takes --values "$file" --set cluster.lease=0m59s1000ms
  for lease in 999ms 0s 0.5s 61s 1m1s 60001ms 2m 1h; do
    refuses "cluster.lease: $lease, but a server takes 1s to 1m" --values "$file" --set "cluster.lease=$lease"
  done
  takes --values "$file" --set cluster.store.job.adminSecret= --set configCheck.enabled=false
  refuses "cluster.store.job.adminSecret takes cluster.store.existingSecret" --set cluster.store.job.adminSecret=a
  refuses "at '/cluster/store': missing property 'job'" --set cluster.store.job=null
  refuses "at '/cluster/peerCertificates/0': 'headgate' does not match pattern" --values "$file" \
    --set 'cluster.peerCertificates={headgate}'
  refuses "at '/cluster/lease': '3' does not match pattern" --values "$file" --set-string cluster.lease=3
  refuses "config.cluster: the chart writes it" --set config.cluster.secret_file=/a --set config.cluster.store.dsn=a \
    --set 'config.cluster.peer_certificates={DNS:a}'
  refuses "extraArgs: the chart writes --member; set cluster.store instead" --set 'extraArgs={--member=a}'
  refuses "extraArgs: the chart writes --member-address; set cluster.store instead" \
    --set 'extraArgs={--member-address=a:1}'
  refuses "extraEnv: the chart writes HEADGATE_MEMBER; set cluster.store instead" \
    --set 'extraEnv[0].name=HEADGATE_MEMBER' --set 'extraEnv[0].value=a'
  refuses "tls.csi takes tls.enabled" --set tls.csi.driver=a
  refuses "tls.csi takes tls.enabled, and neither existingSecret nor certManager.enabled" --values "$file" \
    --set tls.csi.driver=a
}

# What the chart writes into the configuration itself.
refuses_foreign_configuration() {
  refuses "config.tls: the chart writes it" --set config.tls.key_file=/a \
    --set config.tls.certificate_file=/b
  refuses "config.server.grpc_address: in the pod it is always port 8081" \
    --set config.server.grpc_address=0.0.0.0:9000
  refuses "config.server.state_dir: the chart mounts a volume" --set config.server.state_dir=/a
  refuses "config.access.token_file: the chart writes it" --set config.access.token_file=/a \
    --set 'config.access.callers[0].name=a' --set 'config.access.callers[0].token=a'
  refuses "postgres.existingSecret, which those files come from, is empty" \
    --set 'config.targets[0].name=a' --set 'config.targets[0].primary.dsn_file=/etc/headgate/dsn/a'
}

# What the server would refuse, helm refuses before anything is sent. check_config_schema tries every field.
refuses_wrong_configuration() {
  local rate budget=(--set 'config.budgets[0].name=a' --set 'config.budgets[0].burst=5s')
  refuses "at '/config': additional properties 'budget' not allowed" --set 'config.budget[0].name=a'
  refuses "at '/config/budgets/0': missing property 'name'" --set 'config.budgets[0].burst=5s'
  refuses "at '/config/budgets/0/mode': value must be one of 'ENFORCE', 'WARN', 'DISABLED'" \
    --set 'config.budgets[0].name=a' --set 'config.budgets[0].mode=warn'
  refuses "at '/config/engine/max_permits': minimum: got 1, want 64" --set config.engine.max_permits=1
  refuses "at '/config/engine/permit_ttl': got number, want string" --set config.engine.permit_ttl=60
  refuses "at '/config/engine/max_permit_share': maximum: got 7, want 1" --set config.engine.max_permit_share=7
  refuses "at '/config/engine/max_permit_share': exclusiveMinimum: got 0, want 0" \
    --set config.engine.max_permit_share=0
  refuses "at '/config/budgets/0/split/depth': maximum: got 99, want 8" "${budget[@]}" \
    --set 'config.budgets[0].split.depth=99'
  refuses "at '/config/budgets/0/rate': minimum: got -5, want 0" "${budget[@]}" --set 'config.budgets[0].rate=-5'
  refuses "at '/config/budgets/0/burst': minimum: got -5, want 0" "${budget[@]}" --set 'config.budgets[0].burst=-5'
  for rate in -1% 101% 100.5% 2000%; do
    refuses "at '/config/budgets/0/rate': '$rate' does not match pattern" "${budget[@]}" \
      --set "config.budgets[0].rate=$rate"
  done
  for rate in 0% -0% 5.5% 100% 100.0% .5% 007% 1e1%; do
    takes "${budget[@]}" --set "config.budgets[0].rate=$rate"
  done
  refuses "at '/config/budgets/0/rate': additional properties 'unit_per_second' not allowed" "${budget[@]}" \
    --set 'config.budgets[0].rate.unit_per_second=5'
  refuses "at '/config/rules/0': additional properties 'chagre' not allowed" --set 'config.rules[0].name=a' \
    --set 'config.rules[0].chagre[0]=a'
}

# Nobody is let in by what is left out.
refuses_to_be_open() {
  local name
  refuses "config.access is missing: the server listens on 0.0.0.0 for the whole cluster" --set insecure=false
  refuses "Set config.access.callers, with tls.enabled for certificates and tokens; or insecure: true" \
    --set insecure=false --set config.throttle_log.step=10s
  for name in tls mtls mtls-access cert-manager; do
    refuses "networkPolicy.enabled is false: the server listens on 0.0.0.0 for the whole cluster" \
      --set insecure=false --values "$CHART/ci/$name.yaml" --set networkPolicy.enabled=false
    refuses "Set networkPolicy.enabled: true, and in networkPolicy.callers who may call; or insecure: true" \
      --set insecure=false --values "$CHART/ci/$name.yaml" --set networkPolicy.enabled=false
  done
  refuses "at '/config/access': got null, want object" --set insecure=false \
    --values "$CHART/ci/tls.yaml" --set config.access=null
  takes --set networkPolicy.enabled=false
}

check_refusals() {
  takes_what_is_right
  refuses_to_be_open
  refuses_wrong_configuration
  refuses_wrong_shapes
  refuses_empty_sections
  refuses_wrong_names
  refuses_callers_that_nobody_is
  refuses_too_little_time_to_stop
  check_time_to_stop
  refuses_time_to_stop_from_variables
  refuses_flags_of_its_own
  refuses_addresses_that_nobody_reaches
  refuses_wrong_scrapes
  refuses_a_volume_too_small
  refuses_passwords
  refuses_contradictions
  refuses_servers_that_share_nothing
  refuses_foreign_configuration
}
