# A check that prints each violation, as one that fails where there is any.
# shellcheck shell=bash

fail_on_output() { awk '{ print } END { exit NR > 0 }'; }
