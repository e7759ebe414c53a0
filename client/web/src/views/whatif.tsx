// What if: the recorded demand, decided again under another configuration, beside the one in force.
import { useContext, useState } from "preact/hooks";
import { ApiError, type ResponseOf, type Schemas } from "../api/client";
import { serverNow } from "../state/clock";
import { useKept } from "../state/kept";
import { useLive, useSession } from "../state/live";
import { ServerStatus } from "../state/server_status";
import { periodOf, usePlace } from "../state/url";
import { number, percent, plural, time } from "../text/format";
import { numberOf } from "../text/health";
import { Badge, Card, Empty, Name, Trouble } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { Range } from "./who/range";

type Replay = ResponseOf<"replay_throttle_log">;

const CONFIG_EVERY_MS = 10_000;
// As the server says that it runs without one.
const NO_FILE = "{}\n";

export function WhatIf() {
  const place = usePlace();
  const session = useSession();
  // What is in force is there to begin with, and again where all was deleted that was typed.
  const inForce = useLive("get_configuration", {}, CONFIG_EVERY_MS);
  const [typed, setYaml] = useKept<string | undefined>("another configuration", undefined);
  const own = inForce.data?.yaml === NO_FILE ? "" : (inForce.data?.yaml ?? "");
  const yaml = typed ?? own;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [result, setResult] = useState<{ replay: Replay; of: string }>();
  const replay = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    // What a configuration before this one would have done is not left standing beside its refusal.
    setResult(undefined);
    try {
      const filter = {
        ...periodOf(place.range, serverNow()),
        ...(place.target && { target: place.target }),
        ...(place.identity && { identity: place.identity }),
      };
      setResult({ replay: await session.api.call("replay_throttle_log", { config_yaml: yaml, filter }, { timeoutMs: 120_000 }), of: yaml });
    } catch (thrown) {
      const failure = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      if (failure.isUnknownCaller) session.onUnknownCaller(failure);
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="cards">
      <Card title="Another configuration" id="config" wide aside={<InForce />}>
        <form class="form" onSubmit={replay}>
          <label>
            The changed headgate.yaml
            <textarea class="mono" rows={12} required spellcheck={false} placeholder={PLACEHOLDER} value={yaml} onInput={(event) => setYaml(event.currentTarget.value)} />
          </label>
          <div class="bar">
            <label class="file">
              or a file
              <input type="file" accept=".yaml,.yml" onChange={async (event) => setYaml((await event.currentTarget.files?.[0]?.text()) ?? yaml)} />
            </label>
            {typed !== undefined && own !== "" && (
              <button type="button" onClick={() => setYaml(undefined)}>
                Begin again with the one in force
              </button>
            )}
            <Range />
            <button type="submit" class="primary" disabled={busy}>
              {busy ? "Replaying…" : "Replay"}
            </button>
          </div>
          <p class="muted">
            It begins as what is in force, without what says how to reach servers and who may call. What it does not name is not limited. Decides what was asked{place.identity && <> by <Name mono>{place.identity}</Name></>}
            {place.target && <> on <Name>{place.target}</Name></>} in that time again. Nothing is changed; seven days at most.
          </p>
        </form>
        {inForce.error && !inForce.error.isUnknownCaller && <Trouble error={inForce.error} />}
        {error && (
          <>
            <p class="trouble">This configuration is refused, so there is nothing to compare:</p>
            <Trouble error={error} />
          </>
        )}
      </Card>
      {result && <Result result={result.replay} isOld={result.of !== yaml} />}
    </div>
  );
}

const PLACEHOLDER = "budgets:\n  - {name: backfills, rate: 500, burst: 5000}\nrules:\n  - {name: backfills, match: {identity: backfill}, charge: [backfills]}";

// Where the one that it is compared with is from.
function InForce() {
  const config = useContext(ServerStatus)?.config;
  if (!config?.path) return null;
  return (
    <span class="muted">
      in force: <Name mono>{config.path}</Name> of {time(config.loaded_at, serverNow())} UTC
    </span>
  );
}

interface Row {
  identity: string;
  target: string;
  before: number;
  inForce: number;
  after: number;
  change: number;
  costInForce: number;
  costAfter: number;
}

function rowOf(from: Schemas["ReplayedIdentity"]): Row {
  const after = numberOf(from.denied_after);
  const inForce = from.denied_in_force === undefined ? numberOf(from.denied_before) : numberOf(from.denied_in_force);
  return {
    identity: from.identity ?? "",
    target: from.target ?? "",
    before: numberOf(from.denied_before),
    inForce,
    after,
    change: after - inForce,
    costInForce: numberOf(from.allowed_cost_in_force ?? from.allowed_cost_before),
    costAfter: numberOf(from.allowed_cost_after),
  };
}

const signed = (n: number) => (n > 0 ? `+${number(n)}` : n < 0 ? `−${number(-n)}` : "0");

const COLUMNS: readonly Column<Row>[] = [
  { key: "identity", title: "Identity", cell: (row) => <Name mono>{row.identity}</Name>, by: (row) => row.identity },
  { key: "target", title: "Target", cell: (row) => <Name>{row.target}</Name>, by: (row) => row.target },
  { key: "before", title: "Denied then", cell: (row) => number(row.before), by: (row) => row.before, number: true },
  { key: "force", title: "Denied, in force", cell: (row) => number(row.inForce), by: (row) => row.inForce, number: true },
  { key: "after", title: "Denied, changed", cell: (row) => number(row.after), by: (row) => row.after, number: true },
  {
    key: "change",
    title: "Difference",
    cell: (row) => <Badge tone={row.change > 0 ? "bad" : row.change < 0 ? "good" : "quiet"}>{signed(row.change)}</Badge>,
    by: (row) => Math.abs(row.change),
    number: true,
  },
  { key: "costForce", title: "Cost allowed, in force", cell: (row) => number(row.costInForce), by: (row) => row.costInForce, number: true },
  { key: "cost", title: "Cost allowed, changed", cell: (row) => number(row.costAfter), by: (row) => row.costAfter, number: true },
];

// One of the three that are compared: how many were denied, of how many, at what cost.
function Side(props: { name: string; note: string; checks: number; denied: number; cost: number }) {
  const { name, note, checks, denied, cost } = props;
  return (
    <li class="tile quiet">
      <p class="muted">{name}</p>
      <p>
        <strong>{number(denied)}</strong> denied{checks > 0 && `, ${percent(denied / checks)}`}
      </p>
      <p class="muted">
        cost allowed {number(cost)} · {note}
      </p>
    </li>
  );
}

function Result({ result, isOld }: { result: Replay; isOld: boolean }) {
  const identities = result.identities ?? [];
  const rows = identities.map(rowOf);
  const sum = (value: (one: Schemas["ReplayedIdentity"]) => unknown) => identities.reduce((all, one) => all + numberOf(value(one)), 0);
  const now = serverNow();
  const denied = { then: sum((one) => one.denied_before), force: rows.reduce((all, row) => all + row.inForce, 0), after: sum((one) => one.denied_after) };
  const checks = denied.then + sum((one) => one.allowed_before);
  return (
    <Card title="What would have been" id="result" wide>
      {isOld && <p class="ask">The text above was changed since: this is what it would have done before. Replay it again.</p>}
      <p role="status">
        From {time(result.from, now)} to {time(result.to, now)} UTC, {plural(checks, "Check")}: the changed configuration denies {plural(denied.after, "Check")},{" "}
        {signed(denied.after - denied.force)} against the one in force.
      </p>
      {rows.length === 0 ? (
        <Empty>Nobody was answered in this time. Each who asked would be listed here, under both configurations.</Empty>
      ) : (
        <>
          <ul class="tiles sides">
            <Side name="As it was" note="what the log counted" checks={checks} denied={denied.then} cost={sum((one) => one.allowed_cost_before)} />
            <Side name="In force" note="the same replay" checks={checks} denied={denied.force} cost={rows.reduce((all, row) => all + row.costInForce, 0)} />
            <Side name="Changed" note="the same replay" checks={checks} denied={denied.after} cost={sum((one) => one.allowed_cost_after)} />
          </ul>
          <Table caption="Identities, before and after" rows={rows} columns={COLUMNS} id={(row) => `${row.target} ${row.identity}`} text={(row) => `${row.identity} ${row.target}`} sort="-change" empty="" />
        </>
      )}
      {(result.caveats ?? []).length > 0 && (
        <>
          <h3>What makes this inexact</h3>
          <ul class="caveats">
            {result.caveats!.map((caveat) => (
              <li key={caveat}>
                <Name>{caveat}</Name>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}
