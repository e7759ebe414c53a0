# What a test run took, held against what it may take. Times are kept in build/test_times, which is this machine's
# memory of its own runs.
# shellcheck shell=bash

TEST_TIMES=build/test_times

# A unit's times that came out of runs, the newest last: "PRESET UNIT SECONDS".
remember_time() { # remember_time PRESET UNIT SECONDS
  mkdir -p "$(dirname "$TEST_TIMES")"
  echo "$1 $2 $3" >>"$TEST_TIMES"
}

# What of this run has been above its own budget by half three times in a row. Within two seconds a machine that is
# busy for a moment says more about itself than about a test.
above_budget() { # above_budget: "PRESET UNIT" of this run on stdin
  awk -v plan="$(planned)" -v times="$(tail --lines=20000 "$TEST_TIMES" 2>/dev/null)" '
    BEGIN {
      count = split(plan, rows, "\n")
      for (i = 1; i <= count; i++) { split(rows[i], word, " "); budget[word[1], word[2]] = word[4] }
      count = split(times, rows, "\n")
      for (i = 1; i <= count; i++) {
        split(rows[i], word, " "); key = word[1] SUBSEP word[2]
        if (!(key in budget)) continue
        above[key] = word[3] > 1.5 * budget[key] && word[3] > 2 ? above[key] + 1 : 0
        last[key] = word[3]
      }
    }
    {
      key = $1 SUBSEP $2
      if (above[key] >= 3) printf "%s (%s) takes %d s, and may take %d: above it by half in %d runs\n", $2, $1, last[key], budget[key], above[key]
    }'
}

# What the plan allows all that is short to take, in seconds, so many beside each other as run.
planned_short_seconds() {
  planned | awk '$3 == "short" { print $2, $4 }' | while read -r unit seconds; do
    if needs_quiet "$unit"; then echo "$seconds 1"; else echo "$seconds $(test_jobs)"; fi
  done | awk '{ sum += $1 / $2 } END { printf "%d", sum }'
}

# What .ci/run has left for what it adds to the short run, in seconds of the plan: of what all may take, without what has
# been taken and what ./dev check takes then, at the pace that the short run had.
rest_seconds() { # rest_seconds TAKEN
  awk -v all="$CI_SECONDS" -v taken="$1" -v check="$CHECK_SECONDS" -v planned="$(planned_short_seconds)" '
    $1 == "short" { took = $3 }
    END {
      pace = took > planned ? took / planned : 1
      rest = (all - taken) / pace - check
      printf "%d", (rest > 300 ? rest : 300)
    }' "$TEST_TIMES"
}
