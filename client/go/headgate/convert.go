package headgate

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

func requestToProto(request Request) *headgatev1.CheckRequest {
	proto := &headgatev1.CheckRequest{
		Identity:      request.Identity,
		Target:        request.Target,
		EstimatedCost: request.EstimatedCost,
		Pattern:       request.Pattern,
		Tags:          request.Tags,
		RequestId:     request.RequestID,
		ValidateOnly:  request.ValidateOnly,
		Lease:         leaseTermsToProto(request.Lease),
	}
	if request.MaxWait != 0 {
		proto.MaxWait = durationpb.New(request.MaxWait)
	}
	return proto
}

func reportsToProto(reports []PermitReport) *headgatev1.ReportRequest {
	proto := &headgatev1.ReportRequest{Reports: make([]*headgatev1.PermitReport, len(reports))}
	for i := range reports {
		proto.Reports[i] = reportToProto(&reports[i])
	}
	return proto
}

func reportToProto(report *PermitReport) *headgatev1.PermitReport {
	proto := &headgatev1.PermitReport{PermitId: report.PermitID, ActualCost: report.ActualCost,
		LeaseUse: leaseUseToProto(report.LeaseUse)}
	if report.BusyTime != nil {
		proto.BusyTime = durationpb.New(*report.BusyTime)
	}
	return proto
}

func answerFromProto(response *headgatev1.CheckResponse) (Answer, error) {
	decision := response.GetDecision()
	verdict := decision.GetVerdict()
	if verdict != headgatev1.Verdict_VERDICT_ALLOWED && verdict != headgatev1.Verdict_VERDICT_DENIED {
		return Answer{}, internal("the server's answer has no verdict")
	}
	answer := Answer{
		Allowed:           verdict == headgatev1.Verdict_VERDICT_ALLOWED,
		Reason:            decision.GetReason(),
		PermitID:          decision.GetPermitId(),
		PredictedCost:     decision.GetPredictedCost(),
		PredictedBusyTime: decision.GetPredictedBusyTime().AsDuration(),
		Probe:             decision.GetProbe(),
		RetryAfter:        decision.GetRetryAfter().AsDuration(),
		Health:            healthFromProto(decision.GetHealth()),
		Message:           decision.GetMessage(),
		Priority:          int(decision.GetPriority()),
		ChunkScale:        decision.GetChunkScale(),
		Waited:            decision.GetWaited().AsDuration(),
		Lease:             leaseGrantFromProto(decision.GetLease()),
	}
	for _, violation := range decision.GetViolations() {
		answer.Violations = append(answer.Violations, violationFromProto(violation))
	}
	return answer, nil
}

func violationFromProto(proto *headgatev1.Violation) Violation {
	violation := Violation{
		Budget:     proto.GetBudget(),
		Rule:       proto.GetRule(),
		LimitKind:  proto.GetLimitKind(),
		Level:      proto.GetLevel(),
		Observed:   proto.GetObserved(),
		Limit:      proto.GetLimit(),
		Signal:     proto.GetSignal(),
		Warn:       proto.GetWarn(),
		RetryAfter: proto.GetRetryAfter().AsDuration(),
		Unit:       proto.GetUnit(),
	}
	if debt := proto.GetReportedDebt(); debt != nil {
		violation.ReportedDebt = &ReportedDebt{
			ReportedAt: debt.GetReportedAt().AsTime(),
			Reported:   debt.GetReported(),
			OwedFor:    debt.GetOwedFor().AsDuration(),
		}
	}
	return violation
}

func healthFromProto(proto *headgatev1.Health) *Health {
	if proto == nil {
		return nil
	}
	health := &Health{
		Profile:  proto.GetProfile(),
		State:    proto.GetState(),
		Speed:    proto.GetSpeed(),
		Pressure: proto.GetPressure(),
		Signal:   proto.GetSignal(),
	}
	if proto.SampleAge != nil {
		age := proto.GetSampleAge().AsDuration()
		health.SampleAge = &age
	}
	return health
}

func reportedFromProto(proto *headgatev1.ReportResult) Reported {
	outcome := proto.GetOutcome()
	if outcome == headgatev1.ReportOutcome_REPORT_OUTCOME_UNSPECIFIED {
		if failed := proto.GetError(); failed.GetCode() != 0 {
			return Reported{Err: &Error{Code: codes.Code(failed.GetCode()), Message: failed.GetMessage()}}
		}
		return Reported{Err: internal("the server's result of a report has neither outcome nor error")}
	}
	reported := Reported{Result: ReportResult{Outcome: outcome, Unsettled: proto.GetUnsettled()}}
	for _, overrun := range proto.GetOverruns() {
		reported.Result.Overruns = append(reported.Result.Overruns, Overrun{
			Budget: overrun.GetBudget(), Reported: overrun.GetReported(), Charged: overrun.GetCharged()})
	}
	return reported
}
