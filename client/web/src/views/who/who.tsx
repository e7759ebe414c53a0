// Who: the tree of identities with what was allowed and held back, over a range; a click narrows it down.
import { useState } from "preact/hooks";
import { useNow } from "../../state/live";
import { go, isPast, periodOf, usePlace } from "../../state/url";
import { Link } from "../../ui/link";
import { Name } from "../../ui/parts";
import { Actions } from "../act/actions";
import { LeasesOf } from "../leases";
import type { Filter } from "../log_filter";
import { LogOf } from "../log_of";
import { Causes } from "./causes";
import { Denials } from "./denials";
import { History } from "./history";
import { Identities } from "./identities";
import { Intervals } from "./intervals";
import { FixTime, Range } from "./range";

// What is asked for so often: now, and of what is over.
const EVERY_MS = 1000;
const PAST_EVERY_MS = 30_000;

// About sixty steps, each a multiple of the log's own.
export function stepSeconds(rangeS: number): number {
  const steps = [10, 30, 60, 300, 600, 1800, 3600, 14400, 43200];
  return steps.find((step) => rangeS / step <= 90) ?? 86400;
}

export function Who() {
  const place = usePlace();
  const now = useNow(10_000);
  const period = periodOf(place.range, now);
  const filter: Filter = {
    ...period,
    ...(place.target && { target: place.target }),
    ...(place.identity && { identity: place.identity }),
    ...(place.segment && { segment: place.segment }),
  };
  const toMs = period.to ? Date.parse(period.to) : now;
  const step = stepSeconds((toMs - Date.parse(period.from)) / 1000);
  const everyMs = isPast(place.range, now) ? PAST_EVERY_MS : EVERY_MS;
  return (
    <>
      <Narrow />
      <LogOf />
      <div class="cards">
        <History filter={filter} step={step} toMs={toMs} everyMs={everyMs} />
        {place.identity && <LeasesOf identity={place.identity} target={place.target} />}
        <Identities filter={filter} step={step} toMs={toMs} level={place.identity ? place.identity.split(":").length + 1 : 1} everyMs={everyMs} />
        <Causes filter={filter} everyMs={Math.max(everyMs, 2000)} />
        <Intervals filter={filter} now={now} everyMs={Math.max(everyMs, 2000)} />
        <Denials now={now} />
      </div>
    </>
  );
}

// The levels of what is looked at, each a way back, and what else it can be narrowed down by.
function Narrow() {
  const place = usePlace();
  const [typed, setTyped] = useState("");
  const segments = place.identity ? place.identity.split(":") : [];
  const levels = segments.map((_, i) => segments.slice(segments.length - 1 - i).join(":"));
  const narrow = (event: Event) => {
    event.preventDefault();
    const text = typed.trim();
    if (text) go(text.startsWith("segment:") ? { segment: text.slice(8).trim(), page: 0 } : { identity: text, page: 0 });
    setTyped("");
  };
  return (
    <div class="bar">
      <nav class="crumbs" aria-label="Level">
        <Link to={{ identity: "", segment: "" }}>Everybody</Link>
        {levels.map((level) => (
          <Link key={level} to={{ identity: level }} current={level === place.identity}>
            <Name mono>{level.split(":")[0]}</Name>
          </Link>
        ))}
        {place.segment && (
          <button type="button" class="chip" onClick={() => go({ segment: "" })}>
            segment <Name mono>{place.segment}</Name> ✕
          </button>
        )}
      </nav>
      <form class="inline" onSubmit={narrow}>
        <input
          aria-label="Identity, or segment: and a segment"
          placeholder="vcopier:online-ddl, or segment:vcopier"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit">Show</button>
      </form>
      <Range />
      <FixTime />
      {place.identity && <Actions whom={{ identity: place.identity, target: place.target }} />}
    </div>
  );
}

