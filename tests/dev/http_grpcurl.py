"""Two hundred requests, good and bad, over HTTP with Python's own client and over gRPC with grpcurl:
the same answers.

    http_grpcurl.py GRPCURL GRPC_ADDRESS HTTP_ADDRESS

What differs from call to call, ids and times, is left out.
"""

import http.client
import json
import math
import random
import re
import subprocess
import sys

REQUESTS = 200
SERVICES = {
    "Check": "ThrottlerService", "BatchCheck": "ThrottlerService", "Report": "ThrottlerService",
    "Explain": "ThrottlerService", "GetStatus": "StatusService", "ListBudgets": "StatusService",
    "ListBuckets": "StatusService", "ListLines": "StatusService", "ListRules": "StatusService",
    "ListLeases": "StatusService",
    "ListOverrides": "OverrideService", "DeleteOverride": "OverrideService", "CreateOverride": "OverrideService",
    "ListOverrideEvents": "OverrideService", "ListCosts": "CostService",
    "ForgetCosts": "CostService", "ForgiveDebt": "CostService",
    "QueryThrottleLog": "ThrottleLogService", "ListDenials": "ThrottleLogService",
    "ListThrottledIntervals": "ThrottleLogService",
}
# Of this call alone, or of this moment.
VOLATILE = {"permit_id", "started_at", "loaded_at", "age", "sample_age", "connections", "bytes",
            "from", "to", "permits", "permits_outstanding", "as_of", "oldest", "snapshot", "holders",
            "rows_buffered", "rows_written", "throttle_log"}
# google.rpc.Code to statuses; RESOURCE_EXHAUSTED is 503 where trying again may help.
STATUSES = {3: {400}, 5: {404}, 7: {403}, 8: {400, 503}, 9: {400}, 12: {501}, 14: {503}, 16: {401}}


def check(dice):
    """One that charges nothing, so that the next one is answered alike."""
    request = {"identity": dice.choice(["job:backfill", "a:b:backfill", "banned", "other", "held:backfill",
                                        "", "not one", "a::b", "x" * 600, "žluť"]),
               "validate_only": True}
    if dice.random() < 0.7:
        request["estimated_cost"] = dice.choice([0, 1, 0.1, 99.5, 1e9, -1, "NaN", "Infinity", 1e300])
    if dice.random() < 0.3:
        request["tags"] = dice.choice([{}, {"team": "a"}, {"": "x"}, {"k": "v" * 300},
                                       {f"k{i}": "v" for i in range(40)}])
    if dice.random() < 0.3:
        request["target"] = dice.choice(["main", "nowhere", ""])
    if dice.random() < 0.2:
        request["max_wait"] = dice.choice(["1s", "0s", "-1s", "3601s"])
    if dice.random() < 0.2:
        request["pattern"] = dice.choice(["copy", "p" * 2000])
    return request


def generate(dice):
    method = dice.choice(list(SERVICES))
    text = lambda: dice.choice(["", "backfill", "job:backfill", "not one", "nobody"])
    page = {"page_size": dice.choice([0, 1, 1000, 1001, -1]), "page_token": dice.choice(["", "", "x"])}
    span = dice.choice([{}, {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z"},
                        {"from": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"}])
    request = {
        "Check": lambda: check(dice),
        "BatchCheck": lambda: {"checks": [check(dice) for _ in range(dice.randrange(5))]},
        "Report": lambda: {"reports": [{"permit_id": str(dice.choice([0, 1, 2**64 - 1])),
                                        "actual_cost": dice.choice([1, -1, "NaN"])}
                                       for _ in range(dice.randrange(4))]},
        "Explain": lambda: {"check": {**check(dice), "validate_only": False}},
        "GetStatus": lambda: {"target": dice.choice(["", "main", "nowhere"])},
        "ListBudgets": lambda: {**page, "include_uncharged": dice.random() < 0.5},
        "ListBuckets": lambda: {"budget": dice.choice(["", "backfills", "nothing"]),
                                "page_size": page["page_size"]},
        "ListLines": lambda: {"waiters": dice.choice([0, 5, 101, -1])},
        "ListLeases": lambda: {"identity": text(), "leases": dice.choice([0, 5, 101, -1])},
        "ListRules": lambda: page,
        "ListOverrides": lambda: page,
        "DeleteOverride": lambda: {"id": str(dice.choice([0, -1, 4711])), "actor": text(),
                                   "reason": text()},
        "CreateOverride": lambda: {"kind": "OVERRIDE_KIND_PAUSE", "selector": {"identity": "not one"},
                                   "actor": text(), "reason": text(), "expires_in": "60s"},
        "ListOverrideEvents": lambda: {**page, **span},
        "ListCosts": lambda: {**page, "identity": text()},
        "ForgetCosts": lambda: {"identity": "nobody", "actor": text(), "reason": text()},
        "ForgiveDebt": lambda: {"identity": text(), "budget": "nothing", "actor": text(),
                                "reason": text()},
        "QueryThrottleLog": lambda: {"filter": {"identity": text(), **span}},
        "ListDenials": lambda: {"identity": text(), "page_size": page["page_size"]},
        "ListThrottledIntervals": lambda: {"filter": {"identity": text(), **span}},
    }[method]()
    return method, request


def comparable(value, name=""):
    """Without what is volatile, and with times of seconds that pass rounded away."""
    if isinstance(value, dict):
        return {key: comparable(item, key) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [comparable(item, name) for item in value]
    if isinstance(value, float) and not math.isinf(value):
        return float(f"{value:.9g}")
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def over_http(connection, method, request):
    path = "/v1/" + re.sub(r"(?<!^)([A-Z])", r"_\1", method).lower()
    connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    return response.status, response.getheader("Retry-After"), answer


def over_grpc(grpcurl, address, method, request):
    done = subprocess.run(
        [grpcurl, "-plaintext", "-format-error", "-d", "@", address,
         f"headgate.v1.{SERVICES[method]}/{method}"],
        input=json.dumps(request), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None, json.loads(done.stdout)
    error = json.loads(done.stderr[done.stderr.index("{"):])
    return error["code"], error


def main():
    grpcurl, grpc_address, http_address = sys.argv[1:]
    dice = random.Random(7)
    connection = http.client.HTTPConnection(http_address)
    good = bad = 0
    for _ in range(REQUESTS):
        method, request = generate(dice)
        status, retry_after, answer = over_http(connection, method, request)
        code, wanted = over_grpc(grpcurl, grpc_address, method, request)
        where = f"{method} {json.dumps(request)[:300]}:\n  HTTP {status} {answer}\n  gRPC {code} {wanted}"
        if comparable(answer) != comparable(wanted):
            sys.exit(f"the answers differ to {where}")
        denied = answer.get("decision", {}).get("verdict") == "VERDICT_DENIED" and method == "Check"
        right = {429 if denied else 200} if code is None else STATUSES[code]
        if status not in right:
            sys.exit(f"another status than {right} to {where}")
        if denied and (retry_after is None) != ("retry_after" not in answer["decision"]):
            sys.exit(f"no Retry-After to {where}")
        good, bad = good + (code is None), bad + (code is not None)
    if min(good, bad) < REQUESTS / 5:
        sys.exit(f"only {good} good and {bad} bad requests")
    print(f"{good} good and {bad} bad requests: the same answers over HTTP and gRPC")


main()
