// Who: the tree of identities with what was allowed and denied, over a range; a click narrows it down.
import { useState } from "preact/hooks";
import { useLive, useNow } from "../state/live";
import { serverNow } from "../state/clock";
import { go, periodOf, usePlace, isPast, isPeriod, rangeMs } from "../state/url";
import { duration, number, time, word } from "../text/format";
import { Link } from "../ui/link";
import { Card, Empty, Loaded, Name } from "../ui/parts";
import { History } from "./history";
import { Identities } from "./identities";
import type { Filter } from "./log_filter";
import { LogOf } from "./log_of";

// What is asked for so often: now, and of what is over.
const EVERY_MS = 1000;
const PAST_EVERY_MS = 30_000;
const MOST_INTERVALS = 200;

const RANGES = ["15m", "1h", "6h", "24h", "7d", "30d"];

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
        <Identities filter={filter} step={step} toMs={toMs} level={place.identity ? place.identity.split(":").length + 1 : 1} everyMs={everyMs} />
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
    </div>
  );
}

export function Range() {
  const place = usePlace();
  const own = !RANGES.includes(place.range);
  return (
    <label class="range">
      <span>Time</span>
      <select value={place.range} onChange={(event) => go({ range: event.currentTarget.value, page: 0 })}>
        {RANGES.map((range) => (
          <option key={range} value={range}>
            last {range}
          </option>
        ))}
        {own && (
          <option value={place.range}>
            {isPeriod(place.range)
              ? place.range
                  .split("/")
                  .map((at) => time(at, serverNow()))
                  .join(" to ")
              : rangeMs(place.range) && `last ${place.range}`}
          </option>
        )}
      </select>
    </label>
  );
}

function Intervals({ filter, now, everyMs }: { filter: Filter; now: number; everyMs: number }) {
  const live = useLive("list_throttled_intervals", { filter, newest_first: true, page_size: MOST_INTERVALS }, everyMs);
  const isCut = Boolean(live.data?.next_page_token);
  return (
    <Card title="When, and by what" id="intervals" aside={isCut && <span class="muted">the newest {MOST_INTERVALS} of more</span>}>
      <Loaded live={live}>
        {(data) =>
          data.intervals?.length ? (
            <ul class="rows tall" tabIndex={0}>
              {data.intervals.map((interval, i) => (
                <li class="row" key={i}>
                  <Link to={{ identity: interval.identity ?? "" }}>
                    <Name mono>{interval.identity}</Name>
                  </Link>
                  {interval.target && (
                    <span class="muted">
                      {" "}
                      on <Name>{interval.target}</Name>
                    </span>
                  )}
                  <p title={`${time(interval.from, now)} to ${time(interval.to, now)} UTC`}>
                    <Name>{interval.message}</Name>
                  </p>
                </li>
              ))}
            </ul>
          ) : (
            <Empty>At no time was half of the Checks denied, or more. How long Checks waited is not counted here.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}

function Denials({ now }: { now: number }) {
  const { identity, segment, target } = usePlace();
  const whose = { ...(identity && { identity }), ...(segment && { segment }), ...(target && { target }) };
  const live = useLive("list_denials", { ...whose, page_size: 30 });
  return (
    <Card title="Last denials" id="denials">
      <Loaded live={live}>
        {(data) =>
          data.denials?.length ? (
            <ul class="rows tall" tabIndex={0}>
              {data.denials.map((denial) => (
                <li class="row" key={denial.number}>
                  <div class="row-head">
                    <span class="muted">{time(denial.at, now)}</span>
                    <Name mono>{denial.identity}</Name>
                    {!target && denial.target && (
                      <span class="muted">
                        on <Name>{denial.target}</Name>
                      </span>
                    )}
                    <span class="muted end">cost {number(denial.predicted_cost)}</span>
                  </div>
                  <p>
                    {denial.outcome === "OUTCOME_WOULD_BE_DENIED" && "would be denied by "}
                    {word(denial.cause?.reason, "REASON_")}
                    {(["budget", "rule", "signal"] as const).map(
                      (kind) =>
                        denial.cause?.[kind] && (
                          <span key={kind}>
                            {" "}
                            · {kind} <Name>{denial.cause[kind]}</Name>
                          </span>
                        ),
                    )}
                    {denial.cause?.limit !== undefined && ` · ${number(denial.cause.peak)} where the limit is ${number(denial.cause.limit)}`}
                    <span class="muted"> · {denial.retry_after ? `again in ${duration(denial.retry_after)}` : "waiting cannot help"}</span>
                  </p>
                </li>
              ))}
            </ul>
          ) : (
            <Empty>The server has denied nothing of this since it started.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}
