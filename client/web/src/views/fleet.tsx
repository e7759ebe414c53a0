// All targets, the worst first.
import type { Schemas } from "../api/client";
import { duration, number, percent } from "../text/format";
import { RANK, targetVerdict, type TargetStatus, type Verdict } from "../text/health";
import { Link } from "../ui/link";
import { StopEverything } from "./act/actions";
import { HeldBack } from "./held/held_back";
import { Lines } from "./lines";
import { Members, ownerOf } from "./members";
import { useOverrides } from "./act/use_overrides";
import { OrdersHere } from "./orders_here";
import { Stops } from "./stops";
import { Badge, Card, Meter, Name, type Tone } from "../ui/parts";
import { Table, type Column } from "../ui/table";

interface Row extends Verdict {
  target: TargetStatus;
  name: string;
  down: string[];
  age: number;
  owner: string;
}

function rowOf(target: TargetStatus, cluster: Schemas["ClusterStatus"] | undefined): Row {
  const verdict = targetVerdict(target);
  const ages = (target.servers ?? []).map((server) => (server.sample_age ? parseFloat(server.sample_age) : Infinity));
  return {
    ...verdict,
    target,
    name: target.name ?? "",
    down: (target.servers ?? []).filter((server) => !server.reachable && !server.set_aside_until).map((server) => server.name ?? ""),
    age: Math.max(-1, ...ages),
    owner: ownerOf(cluster, target.name),
  };
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Target",
    cell: (row) => (
      <Link to={{ target: row.name }}>
        <Name>{row.name}</Name>
      </Link>
    ),
    by: (row) => row.name,
  },
  { key: "state", title: "Health", cell: (row) => <Badge tone={row.tone}>{row.word}</Badge>, by: (row) => row.rank, number: false },
  {
    key: "pressure",
    title: "Pressure",
    cell: (row) => (
      <div class="measure">
        <Meter value={row.pressure} tone={row.tone} label={`Pressure on ${row.name}`} />
        <span>{number(row.pressure)}</span>
      </div>
    ),
    by: (row) => row.pressure,
    number: true,
  },
  { key: "signal", title: "Binding signal", cell: (row) => <Name mono>{row.signal}</Name>, by: (row) => row.signal },
  { key: "speed", title: "Speed", cell: (row) => percent(row.speed), by: (row) => row.speed, number: true },
  {
    key: "age",
    title: "Sample age",
    cell: (row) => (row.age < 0 ? "–" : row.age === Infinity ? "never" : duration(`${row.age}s`)),
    by: (row) => row.age,
    number: true,
  },
  { key: "down", title: "Out of reach", cell: (row) => <Name>{row.down.join(", ")}</Name>, by: (row) => row.down.length },
];

const OWNER: Column<Row> = { key: "owner", title: "Decided by", cell: (row) => <Name>{row.owner}</Name>, by: (row) => row.owner };

// How many are how: what is wrong is seen before it is looked for.
const GROUPS: readonly [string, Tone, readonly string[]][] = [
  ["shut", "bad", ["SHUT"]],
  ["stale", "bad", ["STALE"]],
  ["slowed or recovering", "warn", ["SLOWED", "RECOVERING"]],
  ["standby missing", "warn", ["STANDBY_MISSING"]],
  ["warming", "warn", ["WARMING"]],
  ["healthy", "good", ["HEALTHY"]],
  ["not measured", "quiet", ["UNMEASURED"]],
];

export function Fleet({ status }: { status: Schemas["GetStatusResponse"] }) {
  const overrides = useOverrides();
  const rows = (status.targets ?? []).map((target) => rowOf(target, status.cluster));
  rows.sort((a, b) => b.rank - a.rank || b.pressure - a.pressure || a.name.localeCompare(b.name));
  return (
    <>
      <Stops stops={status.overrides?.stops} />
      <ul class="tiles">
        {GROUPS.map(([name, tone, kinds]) => [name, tone, rows.filter(({ rank }) => kinds.some((kind) => RANK[kind] === rank)).length] as const)
          .filter(([, , count]) => count > 0)
          .map(([name, tone, count]) => (
            <li key={name} class={`tile ${tone}`}>
              <strong>{number(count)}</strong> {name}
            </li>
          ))}
      </ul>
      <div class="column">
        <Card title="Targets" id="fleet" aside={<StopEverything target="" of=" on all targets" />}>
          <Table
            caption="All targets, the worst first"
            rows={rows}
            columns={status.cluster ? [...COLUMNS, OWNER] : COLUMNS}
            id={(row) => row.name}
            text={(row) => `${row.name} ${row.word} ${row.signal} ${row.down.join(" ")} ${row.owner}`}
            empty="No target is configured. Each database cluster would be listed here, the worst first."
          />
        </Card>
        <HeldBack target="" waiting={status.waiting} overrides={overrides.data?.overrides} />
        <OrdersHere target="" overrides={overrides} />
        {Number(status.waiting?.waiting ?? 0) > 0 && <Lines waiting={status.waiting} of="" />}
        {status.cluster && <Members cluster={status.cluster} />}
      </div>
    </>
  );
}
