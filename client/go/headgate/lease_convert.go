package headgate

import (
	"google.golang.org/protobuf/types/known/durationpb"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

func leaseTermsToProto(terms *LeaseTerms) *headgatev1.LeaseTerms {
	if terms == nil {
		return nil
	}
	proto := &headgatev1.LeaseTerms{Least: terms.Least}
	if terms.Time != 0 {
		proto.Time = durationpb.New(terms.Time)
	}
	if terms.SafeTime != 0 {
		proto.SafeRate, proto.SafeTime = terms.SafeRate, durationpb.New(terms.SafeTime)
	}
	if terms.Returned != nil {
		proto.Returned = reportToProto(terms.Returned)
	}
	return proto
}

func leaseUseToProto(use *LeaseUse) *headgatev1.LeaseUse {
	if use == nil {
		return nil
	}
	proto := &headgatev1.LeaseUse{Spent: use.Spent, Pieces: use.Pieces, Identity: use.Identity, Target: use.Target,
		SafeSpent: use.SafeSpent, Id: use.ID}
	for _, count := range use.Counts {
		verdict := headgatev1.Verdict_VERDICT_DENIED
		if count.Allowed {
			verdict = headgatev1.Verdict_VERDICT_ALLOWED
		}
		proto.Counts = append(proto.Counts, &headgatev1.PieceCount{Verdict: verdict, Reason: count.Reason,
			LimitKind: count.LimitKind, Budget: count.Budget, Rule: count.Rule, Signal: count.Signal,
			Pieces: count.Pieces, Cost: count.Cost})
	}
	return proto
}

func leaseGrantFromProto(proto *headgatev1.Lease) *LeaseGrant {
	if proto == nil {
		return nil
	}
	grant := &LeaseGrant{Amount: proto.GetAmount(), Time: proto.GetTime().AsDuration(),
		LargestPiece: proto.GetLargestPiece(), RejectRatio: proto.GetRejectRatio(), OneAtATime: proto.GetOneAtATime(),
		SafeRate: proto.GetSafeRate(), SafeTime: proto.GetSafeTime().AsDuration(), State: proto.GetState()}
	if returned := proto.GetReturned(); returned != nil {
		reported := reportedFromProto(returned)
		grant.Returned = &reported
	}
	return grant
}
