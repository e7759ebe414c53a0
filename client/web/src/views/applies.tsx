// Which rules and budgets apply to one job, and what it would be answered now.
import { useState } from "preact/hooks";
import { serverNow } from "../state/clock";
import { useLive } from "../state/live";
import { go, usePlace } from "../state/url";
import { duration, number, time } from "../text/format";
import { numberOf } from "../text/health";
import { Badge, Card, Empty, Loaded, Name } from "../ui/parts";

export function Applies({ targets }: { targets: readonly string[] }) {
  const place = usePlace();
  const [identity, setIdentity] = useState(place.identity);
  const [target, setTarget] = useState(place.target);
  const asked = place.identity ? { identity: place.identity, target: place.target } : undefined;
  const check = asked && { identity: asked.identity, ...(asked.target && { target: asked.target }) };
  const live = useLive("explain", check && { check });
  return (
    <Card title="What applies to a job" id="applies">
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          go({ identity: identity.trim(), target: target.trim() });
        }}
      >
        <input required aria-label="Identity of the job" class="mono" placeholder="job-7:etl" value={identity} onInput={(event) => setIdentity(event.currentTarget.value)} />
        {targets.length > 1 && (
          <input required aria-label="Target of the job" list="targets" placeholder="target" value={target} onInput={(event) => setTarget(event.currentTarget.value)} />
        )}
        <button type="submit">Explain</button>
      </form>
      {!asked ? (
        <Empty>Name a job to see the rules and overrides that match it, which of them won, and its budgets.</Empty>
      ) : (
        <Loaded live={live}>
          {(data) => (
            <>
              <p>
                <Badge tone={data.decision?.verdict === "VERDICT_ALLOWED" ? "good" : "bad"}>
                  {data.decision?.verdict === "VERDICT_ALLOWED" ? "would be allowed" : "would be denied"}
                </Badge>{" "}
                <Name>{data.decision?.message}</Name>
              </p>
              {(data.to_be_allowed ?? []).map((what, i) => (
                <p key={i} class="muted">
                  To be allowed: <Name>{what}</Name>
                </p>
              ))}
              <h3>Rules</h3>
              {data.matched_rules?.length ? (
                <ul class="rows">
                  {data.matched_rules.map((rule) => (
                    <li class="row" key={rule.name}>
                      <div class="row-head">
                        <Name>{rule.name}</Name>
                        {rule.effect === "RULE_EFFECT_OVERRULED" && <Badge tone="quiet">overruled</Badge>}
                        <span class="muted end">
                          {rule.expires_at ? `until ${time(rule.expires_at, serverNow())} UTC` : "without an end"}
                        </span>
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
                  ))}
                </ul>
              ) : (
                <Empty>No rule matches it: nothing limits it.</Empty>
              )}
              {(data.buckets ?? []).length > 0 && <h3>Budgets</h3>}
              <ul class="rows">
                {(data.buckets ?? []).map((bucket, i) => (
                  <li class="row" key={i}>
                    <div class="row-head">
                      <Name>{bucket.budget}</Name>
                      {bucket.bucket && <Name mono>{bucket.bucket}</Name>}
                      <span class="muted end">{bucket.room_in === undefined ? "never has room" : numberOf(parseFloat(bucket.room_in)) === 0 ? "has room" : `room in ${duration(bucket.room_in)}`}</span>
                    </div>
                    <p class="muted">
                      owes {number(bucket.debt)}
                      {bucket.burst !== undefined && ` of ${number(bucket.burst)}`}
                      {bucket.found && (
                        <>
                          {" "}
                          · <Name>{bucket.found}</Name>
                        </>
                      )}
                    </p>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}
