// Explain: what one Check would be answered now and why, beside what became of the job's Checks in the last hour.
import { useLive } from "../../state/live";
import { go, usePlace, type Place } from "../../state/url";
import { sentence } from "../../text/format";
import { tagsOf } from "../../text/tags";
import { Card, Empty, Loaded, Name } from "../../ui/parts";
import { Actions } from "../act/actions";
import { Answer } from "./answer";
import { Fields, type Asked } from "./fields";
import { LastChecks } from "./last_checks";
import { LastHour } from "./last_hour";
import { MissingTags } from "./missing_tags";

// Undefined: the tags of the address are not written as tags.
function checkOf({ identity, target, cost, pattern, tags: typed }: Place) {
  const tags = tagsOf(typed);
  if (!tags) return undefined;
  const estimate = cost.trim() === "" ? NaN : Number(cost);
  return {
    identity,
    ...(target && { target }),
    ...(Number.isFinite(estimate) && { estimated_cost: estimate }),
    ...(pattern && { pattern }),
    ...(Object.keys(tags).length > 0 && { tags }),
  };
}

export function Explain({ targets }: { targets: readonly string[] }) {
  const place = usePlace();
  const { identity, target } = place;
  // What is asked about is in the address: whoever offers a Check to explain calls this.
  const ask = (asked: Asked) => go(asked);
  const lacksTarget = targets.length > 1 && !target;
  const check = identity && !lacksTarget ? checkOf(place) : undefined;
  const live = useLive("explain", check && { check });
  return (
    <div class="cards">
      <Card title="Explain a Check" id="explain" wide>
        <Fields key={[identity, target, place.cost, place.pattern, place.tags].join("\n")} targets={targets} asked={place} ask={ask} />
        {!identity && <Empty>Name a job to see what a Check of it would be answered now, the rules that match it, which of them won, and its budgets.</Empty>}
        {identity && lacksTarget && <Empty>Say on which target: each has budgets and health of its own.</Empty>}
        {identity && !lacksTarget && !check && <p class="trouble">The tags of this address cannot be read: they are written tenant=acme, region=eu.</p>}
      </Card>
      {check && (
        <>
          <div class="column">
            <Card title="What it would be answered now" id="answer" aside={<Actions whom={{ identity, target }} explain={false} />}>
              <Loaded live={live}>
                {(data) => (
                  <>
                    {(data.warnings ?? []).map((warning) => (
                      <p key={warning} class="ask" role="status">
                        <Name>{sentence(warning)}</Name>
                      </p>
                    ))}
                    <MissingTags target={target} tags={check.tags ?? {}} buckets={data.buckets ?? []} take={(tags) => ask({ ...place, tags })} />
                    <Answer data={data} />
                  </>
                )}
              </Loaded>
            </Card>
          </div>
          <div class="column">
            <Card title={<>The last hour of <Name mono>{identity}</Name></>} id="last-hour">
              <LastHour identity={identity} target={target} isAllowedNow={live.data?.decision?.verdict === "VERDICT_ALLOWED"} />
              <LastChecks checks={live.data?.last_checks ?? []} take={(values) => ask({ identity, target, ...values })} />
            </Card>
          </div>
        </>
      )}
    </div>
  );
}
