"""strangers_costs.py ADDRESS JOB IDENTITY: see strangers_costs.sh."""

import sys

import grpc
from google.protobuf import duration_pb2
from headgate.v1 import throttler_service_pb2 as api
from headgate.v1 import throttler_service_pb2_grpc as service


def require(condition, what):
    if not condition:
        sys.exit(str(what))


class Job:
    def __init__(self, address, identity):
        self.stub = service.ThrottlerServiceStub(grpc.insecure_channel(address))
        self.identity = identity

    def check(self, estimate, pattern):
        request = api.CheckRequest(
            identity=self.identity, estimated_cost=estimate, pattern=pattern
        )
        return self.stub.Check(request, timeout=30).decision

    def permit(self, estimate, pattern):
        decision = self.check(estimate, pattern)
        require(decision.verdict == api.VERDICT_ALLOWED, decision.message)
        require(decision.HasField("predicted_busy_time"), decision)
        return decision.permit_id

    def report(self, permit, **what):
        report = api.PermitReport(permit_id=permit, **what)
        request = api.ReportRequest(reports=[report])
        return self.stub.Report(request, timeout=30).results[0]

    def debts(self):
        check = api.CheckRequest(identity=self.identity)
        explained = self.stub.Explain(api.ExplainRequest(check=check), timeout=30)
        return {bucket.budget: bucket.debt for bucket in explained.buckets}


def reports_rows(job):
    """A thousand rows were a thousand seconds to a budget of busy time."""
    for _ in range(4):
        result = job.report(job.permit(1000, "copy-rows"), actual_cost=1000)
        require(result.outcome == api.REPORT_OUTCOME_SETTLED, result)
        require(not result.overruns, result)
    debts = job.debts()
    require(abs(debts["rows"] - 4000) < 1, debts)
    require(debts["busy"] < 600, debts)


def reports_nothing(job):
    """Seconds were rows to a budget of rows: it gave nearly all of them back."""
    for _ in range(4):
        result = job.report(job.permit(500, "purge"))
        require(result.outcome == api.REPORT_OUTCOME_SETTLED, result)
    require(abs(job.debts()["rows"] - 2000) < 1, job.debts())


def another_unit(job):
    """Estimates in the planner's units, ten to a row, of a pattern of their own."""
    for _ in range(4):
        busy = duration_pb2.Duration(nanos=5_000_000)
        result = job.report(job.permit(3000, "planned"), actual_cost=300, busy_time=busy)
        require(result.outcome == api.REPORT_OUTCOME_SETTLED, result)
    require(abs(job.debts()["rows"] - 1200) < 1, job.debts())
    predicted = job.check(3000, "planned").predicted_cost
    require(predicted < 1500, predicted)


def gets_it_wrong(job):
    """Hours, and bytes for rows: the one is refused with a sentence, the other bounded."""
    permit = job.permit(1, "mistaken")
    hours = duration_pb2.Duration(seconds=360_000)
    refused = job.report(permit, busy_time=hours)
    require("not rows" in refused.error.message, refused)
    result = job.report(permit, actual_cost=1e12)
    require([overrun.budget for overrun in result.overruns] == ["rows"], result)
    require(result.overruns[0].charged == 5000, result)
    # Above its burst by what it is charged now.
    job.report(job.permit(0, "mistaken-too"), actual_cost=1e12)


if __name__ == "__main__":
    globals()[sys.argv[2]](Job(sys.argv[1], sys.argv[3]))
