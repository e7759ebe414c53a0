"""Fills a column of a large table, and asks before each chunk of rows."""

import os

import psycopg

from headgate import Client, OnUnreachable

client = Client(
    os.environ["HEADGATE_ADDRESS"],
    on_unreachable=OnUnreachable.wait(),
    identity="fill-total:backfill",
)
FILL = """
    WITH chunk AS (SELECT id FROM orders WHERE id > %(last)s ORDER BY id LIMIT %(size)s)
    UPDATE orders SET total = net + tax FROM chunk WHERE orders.id = chunk.id RETURNING orders.id
"""

last = 0
with client, psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
    for chunk in client.chunks(None, start=500, max_wait=3600):
        done = [row[0] for row in connection.execute(FILL, {"last": last, "size": chunk.size})]
        chunk.permit.report(actual_cost=len(done))
        if not done:
            break
        last = max(done)
        print(f"filled up to row {last}", flush=True)
print("all rows are filled", flush=True)
