// Numbers, times and words as people read them.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const POWERS: readonly [number, string][] = [
  [1e12, " T"],
  [1e9, " G"],
  [1e6, " M"],
];

// Three to four digits that matter: 0.0123, 4.57, 812, 12,345, 1.23 M. Infinity is a word.
export function number(value: unknown): string {
  const n = typeof value === "string" ? Number(value) : ((value as number | undefined) ?? 0);
  if (Number.isNaN(n)) return "unknown";
  if (!Number.isFinite(n)) return n > 0 ? "infinite" : "−infinite";
  const size = Math.abs(n);
  for (const [power, suffix] of POWERS) if (size >= power) return (n / power).toFixed(2) + suffix;
  if (size >= 100 || Number.isInteger(n)) return GROUPED.format(n);
  return String(Number(n.toPrecision(3)));
}

// "100 %" is only all, and "0 %" only nothing: as many digits as it takes to see that.
export function percent(share: number): string {
  const rounded = Math.round(share * 1000) / 10;
  if (rounded === 0 && share > 0) return `${Number((share * 100).toPrecision(2))} %`;
  if (rounded !== 100 || share >= 1) return `${number(rounded)} %`;
  const digits = [2, 3, 4, 5, 6, 7, 8, 9, 10].find((count) => Number((share * 100).toFixed(count)) < 100);
  return digits === undefined ? "nearly 100 %" : `${(share * 100).toFixed(digits)} %`;
}

// "1.5s" of the API, in seconds; undefined: it is not there.
export function seconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : Number(duration.replace(/s$/, ""));
}

// 0.4 s, 12 s, 3 min 5 s, 2 h 4 min, 5 d 3 h.
export function span(s: number): string {
  if (s < 0) return `−${span(-s)}`;
  if (s < 0.001) return "0 s";
  if (s < 0.01) return `${Math.round(s * 1000)} ms`;
  if (s < 1) return `${Number(s.toFixed(2))} s`;
  if (s < 10) return `${Math.round(s * 10) / 10} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const steps: readonly [number, string, number, string][] = [
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "min"],
    [60, "min", 1, "s"],
  ];
  const [large, largeName, small, smallName] = steps.find(([unit]) => s >= unit)!;
  const rest = Math.floor((s % large) / small);
  return `${Math.floor(s / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

export const duration = (text: string | undefined) => (text === undefined ? "–" : span(seconds(text)!));

const two = (n: number) => String(n).padStart(2, "0");

// In UTC, as the log has it: what two people in two places see is the same. The day where it is another one.
export function time(text: string | undefined, nowMs: number): string {
  if (!text) return "–";
  const at = new Date(text);
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  const day = at.toISOString().slice(0, 10);
  return day === new Date(nowMs).toISOString().slice(0, 10) ? clock : `${day} ${clock}`;
}

// "REASON_MAX_COST" is "max cost".
export const word = (name: string | undefined, prefix: string) =>
  (name ?? "").replace(prefix, "").toLowerCase().replaceAll("_", " ");

// The value of a signal, in the unit that its name ends with.
export function reading(signal: string, value: unknown): string {
  if (value === undefined) return "–";
  const name = signal.split(" ")[0] ?? "";
  const n = typeof value === "string" ? Number(value) : (value as number);
  if (!Number.isFinite(n)) return number(n);
  if (name.endsWith("_seconds")) return span(n);
  if (name.includes("bytes")) return bytes(n);
  return number(n);
}

export function bytes(n: number): string {
  const steps: readonly [number, string][] = [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ];
  const step = steps.find(([size]) => Math.abs(n) >= size);
  return step ? `${number(n / step[0])} ${step[1]}` : `${number(n)} B`;
}

// Characters that are not seen, and that turn round or hide what stands beside them, as their numbers. An element of
// its own does not keep them in: an isolate that a text opens ends where the element's should. So are marks that pile up
// on a letter: more than two draw over the lines around.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u202f]|(?<=\p{M}{2})\p{M}/gu;
export const visible = (text: string) =>
  text.replace(UNSEEN, (c) => {
    const code = c.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });

// What the server says in the middle of a line, as a sentence of its own.
export const sentence = (text: string) => (text ? `${text[0]!.toUpperCase()}${text.slice(1).replace(/\.$/, "")}.` : "");

export const plural = (n: number, one: string, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
