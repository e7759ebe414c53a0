// The answer that a Check would get, the rules that match it, and its budgets.
import type { ResponseOf, Schemas } from "../../api/client";
import { serverNow } from "../../state/clock";
import { duration, number, percent, plural, time } from "../../text/format";
import { numberOf } from "../../text/health";
import { Badge, Empty, Meter, Name } from "../../ui/parts";

export function Answer({ data }: { data: ResponseOf<"explain"> }) {
  const isAllowed = data.decision?.verdict === "VERDICT_ALLOWED";
  const ratio = numberOf(data.reject_ratio);
  return (
    <>
      <p>
        <Badge tone={isAllowed ? "good" : "bad"}>{isAllowed ? "would be allowed" : "would be denied"}</Badge> <Name>{data.decision?.message}</Name>
      </p>
      {isAllowed && ratio > 0 && <p class="trouble">A rule denies {percent(ratio)} of its Checks by chance.</p>}
      {(data.to_be_allowed ?? []).map((what) => (
        <p key={what} class="muted">
          To be allowed: <Name>{what}</Name>
        </p>
      ))}
      {(data.lines ?? []).map((line) => (
        <p key={line.waits_for} class="muted">
          It would stand at place {number(line.position)} of those who wait for <Name>{line.waits_for}</Name>: {plural(numberOf(line.waiting), "waits", "wait")} now,{" "}
          {line.expected_turn === undefined ? "and nobody can know when its turn is" : `its turn in ${duration(line.expected_turn)}`}.
        </p>
      ))}
      {data.leases && <Held leases={data.leases} />}
      <h3>Rules</h3>
      {data.matched_rules?.length ? (
        <ul class="rows">
          {data.matched_rules.map((rule) => (
            <RuleRow key={rule.name} rule={rule} />
          ))}
        </ul>
      ) : (
        <Empty>No rule matches it: nothing limits it.</Empty>
      )}
      {(data.buckets ?? []).length > 0 && <h3>Budgets</h3>}
      <ul class="rows">
        {(data.buckets ?? []).map((bucket, i) => (
          <BucketRow key={i} bucket={bucket} />
        ))}
      </ul>
    </>
  );
}

function Held({ leases: { leases, amount, ends_in, overdue, overdue_amount } }: { leases: Schemas["LeasesHeld"] }) {
  const late = numberOf(overdue);
  return (
    <p class="muted">
      {numberOf(leases) > 0 && `It holds ${plural(numberOf(leases), "lease")} of ${number(amount)}, charged in advance; ${numberOf(leases) === 1 ? "it ends" : "the last ends"} in ${duration(ends_in)}. `}
      {late > 0 && `${plural(late, "lease")} of ${number(overdue_amount)} ${late === 1 ? "was" : "were"} not returned in time and ${late === 1 ? "counts" : "count"} as used.`}
    </p>
  );
}

function RuleRow({ rule }: { rule: Schemas["MatchedRule"] }) {
  return (
    <li class="row">
      <div class="row-head">
        <Name>{rule.name}</Name>
        {rule.effect === "RULE_EFFECT_OVERRULED" && <Badge tone="quiet">overruled</Badge>}
        {rule.expires_at && <span class="muted end">until {time(rule.expires_at, serverNow())} UTC</span>}
      </div>
      <p>
        <Name>{rule.action}</Name>
        {rule.overruled_by && (
          <span class="muted">
            {" "}
            · <Name>{rule.overruled_by}</Name> wins: {rule.overruled_because}
          </span>
        )}
      </p>
    </li>
  );
}

function roomText(bucket: Schemas["BucketState"]): string {
  if (bucket.room_in === undefined) return "never has room for it";
  if (numberOf(parseFloat(bucket.room_in)) === 0) return "has room";
  return bucket.ask_again ? `nobody can know when it has room; ask again in ${duration(bucket.room_in)}` : `room in ${duration(bucket.room_in)}`;
}

function BucketRow({ bucket }: { bucket: Schemas["BucketState"] }) {
  const unit = bucket.unit === "BUDGET_UNIT_BUSY_TIME" ? " busy s" : "";
  const burst = numberOf(bucket.burst ?? Infinity);
  const fill = numberOf(bucket.debt) / burst;
  return (
    <li class="row">
      <div class="row-head">
        <Name>{bucket.budget}</Name>
        {bucket.bucket && <Name mono>{bucket.bucket}</Name>}
        <span class="muted end">{roomText(bucket)}</span>
      </div>
      {Number.isFinite(burst) && <Meter value={fill} tone={fill >= 1 ? "bad" : fill > 0.8 ? "warn" : "good"} label={`Debt of ${bucket.budget}`} />}
      <p class="muted">
        this Check adds {number(bucket.cost)}
        {unit} · owes {number(bucket.debt)}
        {bucket.burst !== undefined && ` of ${number(bucket.burst)}`}
        {bucket.max_cost !== undefined && ` · one Check at most ${number(bucket.max_cost)}`}
        {bucket.found && (
          <>
            {" "}
            · <Name>{bucket.found}</Name>
          </>
        )}
      </p>
    </li>
  );
}
