"""Sends a task for each 50 rows, and waits until all are done: `send_tasks.py ROWS`."""

import sys

from celery import group

from tasks import fill_total

rows = int(sys.argv[1])
tasks = group(fill_total.s(first, first + 50) for first in range(1, rows + 1, 50))
done = tasks.apply_async().get(timeout=60)
assert sum(done) == rows, done
