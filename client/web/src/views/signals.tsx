// The signals of a profile against soft and hard; the binding one first, and named.
import { duration, reading } from "../text/format";
import { HARD_AT, numberOf, placeOnBar, SOFT_AT, type Health, type TargetStatus } from "../text/health";
import { Badge, Empty, Meter, Name, type Tone } from "../ui/parts";

interface Row {
  name: string;
  value: number | undefined;
  soft: number;
  hard: number;
  error: string;
  age: string | undefined;
  binds: boolean;
}

function rowsOf(target: TargetStatus, profile: Health): Row[] {
  const rows = (target.signals ?? []).flatMap((signal) => {
    const at = signal.thresholds?.find((thresholds) => thresholds.profile === profile.profile);
    if (!at) return [];
    return [
      {
        name: signal.name ?? "",
        value: signal.value === undefined ? undefined : numberOf(signal.value),
        soft: numberOf(at.soft),
        hard: numberOf(at.hard),
        error: signal.error ?? "",
        age: signal.age,
        binds: signal.name === profile.signal,
      },
    ];
  });
  const place = (row: Row) => (row.value === undefined ? 2 : placeOnBar(row.value, row.soft, row.hard));
  return rows.sort((a, b) => Number(b.binds) - Number(a.binds) || place(b) - place(a));
}

export function Signals({ target, profile }: { target: TargetStatus; profile: Health }) {
  const rows = rowsOf(target, profile);
  if (rows.length === 0) return <Empty>No signal of this profile has been read here. Each would be shown against its soft and hard threshold.</Empty>;
  return (
    <ul class="rows signals">
      {rows.map((row) => (
        <SignalRow key={row.name} row={row} />
      ))}
    </ul>
  );
}

function SignalRow({ row }: { row: Row }) {
  const { value, soft, hard } = row;
  // What could not be read, or is infinite, has no place on a bar.
  const isKnown = value !== undefined && Number.isFinite(placeOnBar(value, soft, hard)) && Number.isFinite(value);
  const age = row.age ? `${duration(row.age)} old` : "no reading";
  const tone: Tone = value === undefined || value >= hard ? "bad" : value > soft ? "warn" : "good";
  return (
    <li class="row">
      <div class="row-head">
        <Name mono>{row.name}</Name>
        {row.binds && <Badge tone={tone === "good" ? "warn" : tone}>binding</Badge>}
        <strong class="end">{reading(row.name, value)}</strong>
      </div>
      {isKnown ? (
        <>
          <Meter
            value={placeOnBar(value, soft, hard)}
            tone={tone}
            label={`${row.name}, soft ${reading(row.name, soft)}, hard ${reading(row.name, hard)}`}
            marks={[SOFT_AT, HARD_AT]}
          />
          <div class="scale muted" aria-hidden="true">
            <span>{age}</span>
            <span style={{ left: `${SOFT_AT * 100}%` }}>soft {reading(row.name, soft)}</span>
            <span style={{ left: `${HARD_AT * 100}%` }}>hard {reading(row.name, hard)}</span>
          </div>
        </>
      ) : (
        <p class="muted">
          {age} · soft {reading(row.name, soft)} · hard {reading(row.name, hard)}
        </p>
      )}
      {row.error && (
        <p class="trouble">
          <Name>{row.error}</Name>
        </p>
      )}
    </li>
  );
}
