// Times as people type them, in UTC and by the 24-hour clock: "07:00", "yesterday 07:25", "2026-03-01 06:00:30".

const DAY_MS = 86_400_000;
const TYPED = /^(?:(\d{4}-\d{2}-\d{2}|today|yesterday)[ T]+)?([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?Z?$/i;

// A time without a day is of the day of `dayMs`; undefined: it is no time.
export function whenOf(text: string, nowMs: number, dayMs = nowMs): number | undefined {
  const match = TYPED.exec(text.trim());
  if (!match) return undefined;
  const [, day = "", hours, minutes, seconds = "0"] = match;
  const wordMs = { "": dayMs, today: nowMs, yesterday: nowMs - DAY_MS }[day.toLowerCase()];
  const date = wordMs === undefined ? day : new Date(wordMs).toISOString().slice(0, 10);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // A browser takes the 31st of February for a day of March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return undefined;
  return midnight + 1000 * (3600 * Number(hours) + 60 * Number(minutes) + Number(seconds));
}

// "2026-03-01 06:00:30".
export const typedOf = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
