// What if: the recorded demand, decided again under another configuration.
import { useState } from "preact/hooks";
import { ApiError, type ResponseOf, type Schemas } from "../api/client";
import { serverNow } from "../state/clock";
import { useKept } from "../state/kept";
import { useSession } from "../state/live";
import { periodOf, usePlace } from "../state/url";
import { number, plural, time } from "../text/format";
import { numberOf } from "../text/health";
import { Badge, Card, Empty, Name, Trouble } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { Range } from "./who";

interface Row {
  identity: string;
  target: string;
  before: number;
  inForce: number;
  after: number;
  change: number;
  costBefore: number;
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
    costBefore: numberOf(from.allowed_cost_in_force ?? from.allowed_cost_before),
    costAfter: numberOf(from.allowed_cost_after),
  };
}

const signed = (n: number) => (n > 0 ? `+${number(n)}` : n < 0 ? `−${number(-n)}` : "0");

const COLUMNS: readonly Column<Row>[] = [
  { key: "identity", title: "Identity", cell: (row) => <Name mono>{row.identity}</Name>, by: (row) => row.identity },
  { key: "target", title: "Target", cell: (row) => <Name>{row.target}</Name>, by: (row) => row.target },
  { key: "before", title: "Denied then", cell: (row) => number(row.before), by: (row) => row.before, number: true },
  { key: "force", title: "In force", cell: (row) => number(row.inForce), by: (row) => row.inForce, number: true },
  { key: "after", title: "Changed", cell: (row) => number(row.after), by: (row) => row.after, number: true },
  {
    key: "change",
    title: "Difference",
    cell: (row) => <Badge tone={row.change > 0 ? "bad" : row.change < 0 ? "good" : "quiet"}>{signed(row.change)}</Badge>,
    by: (row) => Math.abs(row.change),
    number: true,
  },
  { key: "cost", title: "Cost allowed", cell: (row) => signed(row.costAfter - row.costBefore), by: (row) => row.costAfter - row.costBefore, number: true },
];

export function WhatIf() {
  const place = usePlace();
  const session = useSession();
  const [yaml, setYaml] = useKept("another configuration", "");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [result, setResult] = useState<ResponseOf<"replay_throttle_log">>();
  const replay = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const filter = {
        ...periodOf(place.range, serverNow()),
        ...(place.target && { target: place.target }),
        ...(place.identity && { identity: place.identity }),
      };
      setResult(await session.api.call("replay_throttle_log", { config_yaml: yaml, filter }, { timeoutMs: 120_000 }));
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
      <Card title="Another configuration" id="config" wide>
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
            <Range />
            <button type="submit" class="primary" disabled={busy}>
              {busy ? "Replaying…" : "Replay"}
            </button>
          </div>
          <p class="muted">
            Decides what was asked{place.identity && <> by <Name mono>{place.identity}</Name></>}
            {place.target && <> on <Name>{place.target}</Name></>} in that time again. Nothing is changed; seven days at most.
          </p>
        </form>
        {error && <Trouble error={error} />}
      </Card>
      {result && <Result result={result} />}
    </div>
  );
}

const PLACEHOLDER = "budgets:\n  - {name: backfills, rate: 500, burst: 5000}\nrules:\n  - {name: backfills, match: {identity: backfill}, charge: [backfills]}";

function Result({ result }: { result: ResponseOf<"replay_throttle_log"> }) {
  const rows = (result.identities ?? []).map(rowOf);
  const sum = (name: "before" | "inForce" | "after") => rows.reduce((all, row) => all + row[name], 0);
  const now = serverNow();
  return (
    <Card title="What would have been" id="result" wide>
      <p role="status">
        From {time(result.from, now)} to {time(result.to, now)} UTC this configuration would have denied <strong>{plural(sum("after"), "Check")}</strong>; the one in
        force denies {number(sum("inForce"))} in the same replay, and {number(sum("before"))} were denied then.
      </p>
      {rows.length === 0 ? (
        <Empty>Nobody was answered in this time.</Empty>
      ) : (
        <Table caption="Identities, before and after" rows={rows} columns={COLUMNS} id={(row) => `${row.target} ${row.identity}`} text={(row) => `${row.identity} ${row.target}`} sort="-change" empty="" />
      )}
      {(result.caveats ?? []).length > 0 && (
        <details>
          <summary>What makes this inexact</summary>
          <ul class="caveats">
            {result.caveats!.map((caveat) => (
              <li key={caveat}>
                <Name>{caveat}</Name>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}
