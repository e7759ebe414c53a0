// What was allowed and denied over time. Dragging over a stretch narrows the range down to it, and so does typing
// where it begins and ends.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Schemas } from "../api/client";
import { useLive } from "../state/live";
import { go } from "../state/url";
import { number } from "../text/format";
import { numberOf } from "../text/health";
import { Card, Loaded } from "../ui/parts";
import type { Filter } from "./log_filter";

type Sums = readonly Schemas["LogSum"][];

// One point for each step: what there is no sum of is 0. Denied is drawn below allowed.
export function seriesOf(sums: Sums, fromMs: number, toMs: number, stepS: number): [number[], number[], number[]] {
  const byStep = new Map(sums.map((sum) => [Date.parse(sum.from ?? "") / 1000, sum]));
  const first = Math.floor(fromMs / 1000 / stepS) * stepS;
  const at: number[] = [];
  for (let s = first; s < toMs / 1000; s += stepS) at.push(s);
  const denied = at.map((s) => numberOf(byStep.get(s)?.denied));
  const all = at.map((s, i) => {
    const sum = byStep.get(s);
    return numberOf(sum?.allowed) + numberOf(sum?.would_be_denied) + denied[i]!;
  });
  return [at, all, denied];
}

const largest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

export function History({ filter, step, toMs, everyMs }: { filter: Filter; step: number; toMs: number; everyMs: number }) {
  const live = useLive("query_throttle_log", {
    filter,
    group_by: ["LOG_GROUP_STEP"],
    step: `${step}s`,
    page_size: 1000,
  }, everyMs);
  return (
    <Card
      title="Checks"
      id="history"
      wide
      aside={
        <span class="legend">
          <i class="key allowed" /> allowed <i class="key denied" /> denied
        </span>
      }
    >
      <Loaded live={live}>
        {(data) => {
          const sums = data.sums ?? [];
          const total = (name: "allowed" | "would_be_denied" | "denied") => sums.reduce((all, sum) => all + numberOf(sum[name]), 0);
          const allowed = total("allowed") + total("would_be_denied");
          const fromMs = Date.parse(data.from ?? filter.from ?? "");
          return (
            <>
              <Plot data={seriesOf(sums, fromMs, toMs, step)} step={step} />
              <p class="muted">
                {number(allowed)} allowed, {number(total("denied"))} denied in steps of {step} s; drag to narrow the time down, or say from when to when.
                {numberOf(data.waiting_checks) > 0 && ` ${number(data.waiting_checks)} Checks are not in the log's store yet.`}
              </p>
              <Stretch fromMs={fromMs} toMs={toMs} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

// "2026-03-01T06:00:00", as a browser's input for times has it.
const typedOf = (ms: number) => new Date(ms).toISOString().slice(0, 19);

// From when to when, for who cannot drag. What is typed stays while the time goes on.
function Stretch({ fromMs, toMs }: { fromMs: number; toMs: number }) {
  const [typed, setTyped] = useState<{ from?: string; to?: string }>({});
  const from = typed.from ?? typedOf(fromMs);
  const to = typed.to ?? typedOf(toMs);
  // What is half typed is no time yet, and not wrong.
  const isWrong = Date.parse(`${from}Z`) >= Date.parse(`${to}Z`);
  const show = (event: Event) => {
    event.preventDefault();
    if (isWrong) return;
    const [begin, end] = [from, to].map((text) => new Date(`${text}Z`).toISOString());
    setTyped({});
    go({ range: `${begin}/${end}`, page: 0 });
  };
  const input = (name: "from" | "to", value: string) => (
    <input
      type="datetime-local"
      step={1}
      required
      value={value}
      aria-invalid={isWrong}
      onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
    />
  );
  return (
    <form class="stretch" onSubmit={show}>
      <label>From (UTC) {input("from", from)}</label>
      <label>To (UTC) {input("to", to)}</label>
      <button type="submit">Show this time</button>
      {isWrong && (
        <span class="trouble" role="alert">
          It has to begin before it ends.
        </span>
      )}
    </form>
  );
}

function Plot({ data, step }: { data: [number[], number[], number[]]; step: number }) {
  const folder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  useEffect(() => {
    const element = folder.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element, step), plot.current?.data ?? data, element);
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [step]);
  useEffect(() => plot.current?.setData(data), [data]);
  const [at, all, denied] = data;
  return (
    <div
      class="plot"
      ref={folder}
      role="img"
      aria-label={`${at.length} steps; at most ${largest(all)} Checks in one, of which at most ${largest(denied)} were denied`}
    />
  );
}

const HEIGHT = 190;

// "06:30", and the day where another one begins.
function tick(s: number, before: number | undefined): string {
  const [day, clock] = new Date(s * 1000).toISOString().split("T") as [string, string];
  const isNew = before !== undefined && new Date(before * 1000).toISOString().slice(0, 10) !== day;
  return isNew ? `${clock.slice(0, 5)}\n${day.slice(5)}` : clock.slice(0, 5);
}

function options(element: HTMLElement, step: number): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const bars = uPlot.paths.bars!({ size: [0.9, 24], align: 1 });
  const axis = {
    stroke: color("--muted"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, setScale: false } },
    tzDate: (s) => uPlot.tzDate(new Date(s * 1000), "Etc/UTC"),
    scales: { x: { range: (_plot, least, most) => [least, most + step] }, y: { range: (_plot, _least, most) => [0, Math.max(most, 1) * 1.05] } },
    axes: [{ ...axis, size: 40, values: (_plot, splits) => splits.map((s, i) => tick(s, splits[i - 1])) }, { ...axis, size: 60, values: (_plot, splits) => splits.map((value) => number(value)) }],
    series: [
      {},
      { label: "allowed", fill: color("--allowed"), width: 0, paths: bars, points: { show: false } },
      { label: "denied", fill: color("--denied"), width: 0, paths: bars, points: { show: false } },
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          const at = (x: number) => new Date(Math.round(plot.posToVal(x, "x") / 10) * 10_000).toISOString();
          const [from, to] = [at(left), at(left + width)];
          if (from < to) go({ range: `${from}/${to}`, page: 0 });
        },
      ],
    },
  };
}
