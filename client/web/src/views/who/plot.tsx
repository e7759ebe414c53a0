// The chart of Checks: what was asked, of that what was denied, and how many waited, by a scale of its own. It says what the step under the cursor has.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { go } from "../../state/url";
import { number, percent } from "../../text/format";

// Where steps begin, in seconds; and of each: Checks, those of them that were denied, and how many waited in the mean.
export type Series = [number[], number[], number[], number[]];

const largest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);
// Two digits are enough for a mean.
const mean = (value: number) => number(value < 10 ? Number(value.toPrecision(2)) : Math.round(value));
const clockOf = (s: number) => new Date(s * 1000).toISOString().slice(11, 19);

// "02:51:00–02:51:30 UTC: 12 allowed, 240 denied (95.2 %), 3.2 waiting".
export function tipText([at, all, denied, waiting]: Series, i: number, step: number): string {
  const begin = at[i]!;
  const day = step >= 3600 ? `${new Date(begin * 1000).toISOString().slice(0, 10)} ` : "";
  const share = all[i]! > 0 ? ` (${percent(denied[i]! / all[i]!)})` : "";
  return `${day}${clockOf(begin)}–${clockOf(begin + step)} UTC: ${number(all[i]! - denied[i]!)} allowed, ${number(denied[i]!)} denied${share}${waiting[i]! > 0 ? `, ${mean(waiting[i]!)} waiting` : ""}`;
}

export function Plot({ data, step }: { data: Series; step: number }) {
  const folder = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const latest = useRef(data);
  latest.current = data;
  const plot = useRef<uPlot>();
  const [at, all, denied, waiting] = data;
  const isWaitedIn = largest(waiting) > 0;
  useEffect(() => {
    const element = folder.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element, step, isWaitedIn, (chart) => showTip(tip.current!, chart, latest.current, step)), latest.current, element);
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
  }, [step, isWaitedIn]);
  useEffect(() => plot.current?.setData(data), [data]);
  // The arrow keys go through the steps, as the mouse does.
  const onKey = (event: KeyboardEvent) => {
    const chart = plot.current;
    const last = at.length - 1;
    const now = chart ? stepAt(chart, data, step) : undefined;
    const to = { ArrowLeft: (now ?? last + 1) - 1, ArrowRight: (now ?? -1) + 1, Home: 0, End: last }[event.key];
    if (!chart || to === undefined) return;
    event.preventDefault();
    const middle = at[Math.min(Math.max(to, 0), last)]! + step / 2;
    chart.setCursor({ left: chart.valToPos(middle, "x"), top: 1 });
  };
  return (
    <div class="chart">
      <div
        class="plot"
        ref={folder}
        role="img"
        tabIndex={0}
        onKeyDown={onKey}
        onBlur={() => plot.current?.setCursor({ left: -1, top: -1 })}
        aria-label={`${at.length} steps; at most ${largest(all)} Checks in one, of which at most ${largest(denied)} were denied${isWaitedIn ? `; at most ${mean(largest(waiting))} waiting in the mean` : ""}. The arrow keys go through them.`}
      />
      <div class="tip" ref={tip} role="status" hidden />
    </div>
  );
}

// The step under the cursor; undefined: there is none.
function stepAt(chart: uPlot, [at]: Series, step: number): number | undefined {
  const left = chart.cursor.left ?? -1;
  if (left < 0) return undefined;
  const i = Math.floor((chart.posToVal(left, "x") - at[0]!) / step);
  return i >= 0 && i < at.length ? i : undefined;
}

// Beside the cursor, on the side that has room.
function showTip(tip: HTMLElement, chart: uPlot, data: Series, step: number) {
  const i = stepAt(chart, data, step);
  tip.hidden = i === undefined;
  if (i === undefined) return;
  tip.textContent = tipText(data, i, step);
  const x = chart.cursor.left! + chart.over.offsetLeft;
  const most = chart.root.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x + 12, most))}px`;
}

const HEIGHT = 190;

// "06:30", and the day where another one begins.
function tick(s: number, before: number | undefined): string {
  const [day, clock] = new Date(s * 1000).toISOString().split("T") as [string, string];
  const isNew = before !== undefined && new Date(before * 1000).toISOString().slice(0, 10) !== day;
  return isNew ? `${clock.slice(0, 5)}\n${day.slice(5)}` : clock.slice(0, 5);
}

const upTo = (_plot: uPlot, _least: number, most: number): uPlot.Range.MinMax => [0, Math.max(most, 1) * 1.05];
const numbers = (_plot: uPlot, splits: number[]) => splits.map((value) => number(value));

function options(element: HTMLElement, step: number, isWaitedIn: boolean, onCursor: (chart: uPlot) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const bars = uPlot.paths.bars!({ size: [0.9, 24], align: 1 });
  const stairs = uPlot.paths.stepped!({ align: 1, extend: true });
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
    scales: { x: { range: (_plot, least, most) => [least, most + step] }, y: { range: upTo }, waiting: { range: upTo } },
    axes: [
      { ...axis, size: 40, values: (_plot, splits) => splits.map((s, i) => tick(s, splits[i - 1])) },
      { ...axis, size: 60, values: numbers },
      { ...axis, size: 44, values: numbers, scale: "waiting", side: 1, stroke: color("--waiting"), grid: { show: false }, show: isWaitedIn },
    ],
    series: [
      {},
      { label: "allowed", fill: color("--allowed"), width: 0, paths: bars, points: { show: false } },
      { label: "denied", fill: color("--denied"), width: 0, paths: bars, points: { show: false } },
      { label: "waiting", scale: "waiting", stroke: color("--waiting"), width: 2, paths: stairs, points: { show: false }, show: isWaitedIn },
    ],
    hooks: {
      setCursor: [onCursor],
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
