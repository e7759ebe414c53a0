// One target: its health, its budgets, what was held back, and who waits.
import type { Schemas } from "../api/client";
import { serverNow } from "../state/clock";
import { useLive } from "../state/live";
import { RANK, targetVerdict, verdictOf, type TargetStatus } from "../text/health";
import { duration, span, seconds, time } from "../text/format";
import { Link } from "../ui/link";
import { Badge, Card, Empty, Loaded, Name, Trouble } from "../ui/parts";
import { Budgets, Buckets } from "./budgets";
import { Controllers } from "./controllers";
import { StopEverything } from "./act/actions";
import { HeldBack } from "./held/held_back";
import { Leases } from "./leases";
import { Lines } from "./lines";
import { DecidedBy, Members } from "./members";
import { useOverrides } from "./act/use_overrides";
import { OrdersHere } from "./orders_here";
import { Signals } from "./signals";
import { Stops } from "./stops";
import { Yielding } from "./yielding";

export function Target({ name }: { name: string }) {
  const status = useLive("get_status", name ? { target: name } : {});
  const overrides = useOverrides();
  if (name && status.error?.status === 404) return <Gone name={name} />;
  // What the log has is granted by itself.
  if (status.error?.isRefusal) {
    return (
      <div class="cards">
        <Card title="Status" id="status" wide>
          <Trouble error={status.error} />
        </Card>
        <HeldBack target={name} overrides={overrides.data?.overrides} />
      </div>
    );
  }
  return (
    <Loaded live={status}>
      {(data) => {
        // Without a name it is all that there is, configured or not.
        const target = data.targets?.[0] ?? {};
        return (
          <>
            <Headline target={target} status={data} />
            <div class="cards">
              <HeldBack target={name} waiting={data.waiting} overrides={overrides.data?.overrides} />
              <OrdersHere target={name} overrides={overrides} />
              <div class="column">
                <Profiles target={target} />
                {(target.servers?.length ?? 0) > 0 && <Servers target={target} />}
                {data.cluster && <Members cluster={data.cluster} />}
              </div>
              <div class="column">
                <Lines waiting={data.waiting} of={target.name} />
                <Leases leases={target.leases} target={target.name} />
                <Budgets target={name} />
                <Controllers controllers={target.controllers ?? []} />
                <Yielding agent={target.agent} />
                <Buckets target={name} owing={Number(data.buckets_owing ?? 0)} />
              </div>
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function Gone({ name }: { name: string }) {
  return (
    <Card title={<Name>{name}</Name>} id="gone">
      <Empty>The configuration in force has no target of this name.</Empty>
      <Link to={{ target: "" }}>All that there is</Link>
    </Card>
  );
}

function Headline({ target, status }: { target: TargetStatus; status: Schemas["GetStatusResponse"] }) {
  const verdict = targetVerdict(target);
  const stops = (status.overrides?.stops ?? []).filter(({ selector }) => !selector?.target || selector.target === target.name);
  const isPaused = stops.some(({ kind }) => kind === "OVERRIDE_KIND_PAUSE");
  return (
    <div class={`headline ${stops.length > 0 ? "bad" : verdict.tone}`}>
      <div class="card-head">
        <h2>
          <Name>{target.name || "This server"}</Name> <span class="verdict">{isPaused ? `paused, ${verdict.word}` : verdict.word}</span>
        </h2>
        <StopEverything target={target.name ?? ""} of={target.name ? ` on ${target.name}` : ""} />
      </div>
      <p>
        <Name>{verdict.sentence}</Name>
        {verdict.rank > RANK["HEALTHY"]! && verdict.forS !== undefined && <span class="muted"> So for {span(verdict.forS)}.</span>}
      </p>
      <DecidedBy cluster={status.cluster} target={target.name} />
      <Stops stops={stops} />
    </div>
  );
}

function Profiles({ target }: { target: TargetStatus }) {
  const isDefault = (profile: { profile?: string }) => Number(profile.profile === target.default_health);
  const profiles = (target.profiles ?? [])
    .map((profile, i) => ({ profile, condition: target.conditions?.[i] }))
    .sort((a, b) => isDefault(b.profile) - isDefault(a.profile));
  if (profiles.length === 0) {
    return (
      <Card title="Health" id="health">
        <Empty>No health profile applies to this target: budgets run in real time. Its signals would be shown here.</Empty>
      </Card>
    );
  }
  return (
    <>
      {profiles.map(({ profile, condition }, i) => {
        const verdict = verdictOf(condition, profile);
        return (
          <Card
            key={profile.profile}
            id={`health-${i}`}
            title={
              <>
                Health <Name>{profile.profile}</Name>
                {!isDefault(profile) && target.default_health && <span class="muted"> for budgets that name it</span>}
              </>
            }
            aside={
              <>
                <Badge tone={verdict.tone}>{verdict.word}</Badge>
                {profile.sample_age && <span class="muted">{duration(profile.sample_age)} old</span>}
              </>
            }
          >
            <Signals target={target} profile={profile} />
          </Card>
        );
      })}
    </>
  );
}

// " · polled in 4 ms every 10 s"; what was not polled yet took no time.
function pollText({ poll_time, poll_interval }: Schemas["ServerStatus"]): string {
  const took = seconds(poll_time) ?? 0;
  const every = seconds(poll_interval) ?? 0;
  if (took === 0 && every === 0) return "";
  const text = took === 0 ? "polled" : `polled in ${took < 0.001 ? "less than 1 ms" : took < 1 ? `${Math.round(took * 1000)} ms` : span(took)}`;
  return ` · ${text}${every > 0 ? ` every ${span(every)}` : ""}`;
}

function Servers({ target }: { target: TargetStatus }) {
  return (
    <Card title="Database servers" id="servers">
      <ul class="rows">
        {(target.servers ?? []).map((server) => (
          <li key={server.name} class="row">
            <div class="row-head">
              <Name>{server.name}</Name>
              {server.set_aside_until ? (
                <Badge tone="quiet">set aside until {time(server.set_aside_until, serverNow())}</Badge>
              ) : (
                <Badge tone={server.reachable ? "good" : "bad"}>{server.reachable ? "reached" : "out of reach"}</Badge>
              )}
              <span class="muted end">
                {server.sample_age ? `sample ${span(seconds(server.sample_age)!)} old` : "no sample"}
                {pollText(server)}
              </span>
            </div>
            {server.error && (
              <p class="trouble">
                <Name>{server.error}</Name>
              </p>
            )}
            {server.note && (
              <p class="muted">
                <Name>{server.note}</Name>
              </p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
