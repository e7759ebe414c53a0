# Configuring and building a preset.
# shellcheck shell=bash

# Processes at once: one for each CPU, but no more than one for each 1.5 GB of memory.
build_jobs() {
  local cpus kib limit jobs
  [[ -z ${HEADGATE_JOBS:-} ]] || { echo "$HEADGATE_JOBS" && return; }
  cpus=$(nproc)
  kib=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ $limit != max ]] && ((limit / 1024 < kib)); then kib=$((limit / 1024)); fi
  jobs=$((kib / 1572864))
  if ((jobs > cpus)); then jobs=$cpus; fi
  echo $((jobs > 0 ? jobs : 1))
}

# The same for work that takes far more memory than one compiler, such as clang-tidy.
heavy_jobs() {
  local jobs
  jobs=$(build_jobs)
  echo $((jobs > 2 ? 2 : jobs))
}

known_preset() {
  case $1 in dev | release | tour | asan | tsan) ;; *) return 1 ;; esac
}

# Ninja notices by itself when a CMakeLists.txt changes, but not the presets.
configure_preset() {
  local preset=$1 stamp="build/$1/presets.stamp" log="build/$1/configure.log"
  if [[ -e build/$preset/build.ninja ]] && cmp --silent CMakePresets.json "$stamp"; then
    return 0
  fi
  mkdir -p "build/$preset"
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  cp CMakePresets.json "$stamp"
}

run_ninja() {
  local preset=$1 log="build/$1/build.log"
  shift
  local ninja=(flock "build/$preset.lock"
    cmake --build --preset "$preset" --parallel "$(build_jobs)" "$@")
  if [[ -t 1 ]]; then
    "${ninja[@]}"
  elif ! "${ninja[@]}" >"$log" 2>&1; then
    # Everything from the first failure on; what succeeded is of no interest.
    awk '/^FAILED:|[Ee]rror:/ { found = 1 } found' "$log" | head --lines=120
    return 1
  fi
}

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1 began=$SECONDS targets=()
  shift
  if (($#)); then targets=(--target "$@"); fi
  say "build $preset"
  if ! configure_preset "$preset" || ! run_ninja "$preset" ${targets[@]+"${targets[@]}"}; then
    say "build $preset FAILED"
    return 1
  fi
  say "build $preset: $((SECONDS - began)) s"
}
