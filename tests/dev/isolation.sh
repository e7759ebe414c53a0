#!/usr/bin/env bash
# An honest job beside hostile neighbours, some of them in a short run, all of them in a long one: it is denied
# nothing, waits little longer, and the server stays small. The latencies are a ratio of neighbouring phases, so that a
# busy machine is in both.
# Needs: headgate-bench-isolation
set -euo pipefail

bench=${HEADGATE_BIN:-build/release/bin}/headgate-bench-isolation
arguments=(--rounds=3 --phase-ms=500)
arguments+=('--neighbours=compressed_bombs,many_parts,half_sent_messages,frames_of_one_byte,reset_calls,huge_tag_maps')
if [[ -n ${HEADGATE_LONG:-} ]]; then arguments=(); fi

# meets LINE: whether the goals are met. In a short run the 99th percentile is one of some hundred Checks, and only a
# neighbour that keeps an honest job waiting for tens of milliseconds is told from a busy machine.
meets() {
  awk -v line="$1" -v most_ratio="${HEADGATE_LONG:+3}" 'BEGIN {
    if (most_ratio == "") most_ratio = 100
    count = split(line, words, /[ =]/)
    for (i = 1; i < count; ++i) value[words[i]] = words[i + 1]
    exit !(value["honest_denied"] == "0" && value["honest_p99_ratio"] > 0 &&
           value["honest_p99_ratio"] <= most_ratio + 0 && value["peak_mib"] > 0 && value["peak_mib"] <= 600 &&
           value["learnt_shift"] != "" && value["learnt_shift"] <= 0.01)
  }'
}

# refuses LINE: a goal that cannot be missed is none.
refuses() {
  if meets "$1"; then
    echo "it believes $1"
    exit 1
  fi
}

meets "isolation: honest_p99_ratio=1.50 honest_denied=0 peak_mib=300 learnt_shift=0.0000"
refuses "isolation: honest_p99_ratio=101.00 honest_denied=0 peak_mib=300 learnt_shift=0.0000"
refuses "isolation: honest_p99_ratio=1.50 honest_denied=1 peak_mib=300 learnt_shift=0.0000"
refuses "isolation: honest_p99_ratio=1.50 honest_denied=0 peak_mib=601 learnt_shift=0.0000"
refuses "isolation: honest_p99_ratio=1.50 honest_denied=0 peak_mib=300 learnt_shift=0.0200"
refuses "isolation: broken"

status=0
report=$("$bench" "${arguments[@]}") || status=$?
echo "$report"
line=${report##*$'\n'}
if ! meets "$line" || { [[ -n ${HEADGATE_LONG:-} ]] && ((status != 0)); }; then
  echo "beyond its goals (nothing denied, 600 MiB, learnt costs within 1 %, latency): $line"
  exit 1
fi
