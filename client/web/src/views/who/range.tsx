// Which time is looked at: back from now, or from one time to another.
import { serverNow } from "../../state/clock";
import { go, isPeriod, periodOf, rangeMs, usePlace } from "../../state/url";
import { time } from "../../text/format";

const RANGES = ["15m", "1h", "6h", "24h", "7d", "30d"];

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

// "The last hour" is another hour for whoever opens the link later. This makes the address name the time itself.
export function FixTime() {
  const place = usePlace();
  if (isPeriod(place.range)) return null;
  const fix = () => {
    const now = serverNow();
    go({ range: `${periodOf(place.range, now).from}/${new Date(Math.ceil(now / 10_000) * 10_000).toISOString()}` });
  };
  return (
    <button type="button" class="small" onClick={fix} title="The address then shows this time to whoever opens it">
      Fix this time in the link
    </button>
  );
}
