"""Of `headgate log --top -o json` on standard input: how many Checks were allowed, and how many denied."""

import json
import sys

sums = json.load(sys.stdin)["sums"]
print(*(sum(int(row[outcome]) for row in sums) for outcome in ("allowed", "denied")))
