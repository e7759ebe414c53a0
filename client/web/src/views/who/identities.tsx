// Identities of one level, with counts and a strip of how much was held back when.
import type { Schemas } from "../../api/client";
import { useLive } from "../../state/live";
import { go, usePlace, type Place } from "../../state/url";
import { number, percent, span } from "../../text/format";
import { numberOf } from "../../text/health";
import { heldOf, heldShare } from "../../text/held";
import { Link } from "../../ui/link";
import { Badge, Card, Loaded, Name } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { Actions } from "../act/actions";
import { HeatStrip, stripsOf } from "./heat_strip";
import { untilMs } from "./steps";
import type { Filter } from "../log_filter";

// Of more identities than this there are no strips: each has sixty sums.
const STRIPS = 100;
// So many of those that were held back most are asked for, and all of them, which are megabytes, where they are needed.
const FIRST = 500;
const MOST = 10_000;
const ALL_EVERY_MS = 10_000;
const STRIPS_EVERY_MS = 10_000;

const PAGE = 50;

interface Row {
  identity: string;
  allowed: number;
  denied: number;
  share: number; // of its Checks that were denied, or of the time that they waited
  allowedCost: number;
  deniedCost: number;
  waited: number; // seconds, of all its Checks together
  strip: number[] | undefined;
}

type Sum = Schemas["LogSum"];

function rowOf(sum: Sum, timeS: number, strips: Map<string, number[]> | undefined): Row {
  const allowed = numberOf(sum.allowed) + numberOf(sum.would_be_denied);
  const { denied, waitedS } = heldOf(sum);
  const identity = sum.identity ?? "";
  return {
    identity,
    allowed,
    denied,
    share: heldShare(sum, timeS) ?? 0,
    allowedCost: numberOf(sum.allowed_cost),
    deniedCost: numberOf(sum.denied_cost),
    waited: waitedS,
    strip: strips?.get(identity),
  };
}

function columns(current: string, target: string): Column<Row>[] {
  return [
    {
      key: "identity",
      title: "Identity",
      by: (row) => row.identity,
      cell: (row) =>
        row.identity === current ? (
          <span>
            <Name mono>{row.identity}</Name> <span class="muted">itself</span>
          </span>
        ) : (
          <Link to={{ identity: row.identity }}>
            <Name mono>{row.identity}</Name>
          </Link>
        ),
    },
    { key: "strip", title: "Over time", cell: (row) => <HeatStrip shares={row.strip} /> },
    {
      key: "share",
      title: "Held back",
      by: (row) => row.share,
      number: true,
      cell: (row) => (row.share === 0 ? <span class="muted">0 %</span> : <Badge tone={row.share >= 0.5 ? "bad" : "warn"}>{percent(row.share)}</Badge>),
    },
    { key: "denied", title: "Denied", by: (row) => row.denied, number: true, cell: (row) => number(row.denied) },
    { key: "waited", title: "Waited", by: (row) => row.waited, number: true, cell: (row) => (row.waited > 0 ? span(row.waited) : <span class="muted">0 s</span>) },
    { key: "allowed", title: "Allowed", by: (row) => row.allowed, number: true, cell: (row) => number(row.allowed) },
    { key: "cost", title: "Cost allowed", by: (row) => row.allowedCost, number: true, cell: (row) => number(row.allowedCost) },
    { key: "lost", title: "Cost denied", by: (row) => row.deniedCost, number: true, cell: (row) => number(row.deniedCost) },
    { key: "act", title: "Act", cell: (row) => <Actions whom={{ identity: row.identity, target }} short /> },
  ];
}

// The server has them by how much they were held back. To search through all, to sort them by something else, and to go to the end of the first ones takes all.
export const needsAll = (place: Pick<Place, "q" | "sort" | "page">) =>
  place.q.trim() !== "" || place.sort !== "" || (place.page + 1) * PAGE >= FIRST;

export function Identities(props: { filter: Filter; step: number; toMs: number; level: number; everyMs: number }) {
  const { filter, step, toMs, level, everyMs } = props;
  const place = usePlace();
  const question = { filter, group_by: ["LOG_GROUP_IDENTITY" as const], level, order: "LOG_ORDER_MOST_HELD_BACK" as const };
  const first = useLive("query_throttle_log", { ...question, page_size: FIRST }, everyMs);
  const isCut = Boolean(first.data?.next_page_token);
  const all = useLive("query_throttle_log", isCut && needsAll(place) ? { ...question, page_size: MOST } : undefined, ALL_EVERY_MS);
  const live = all.data ? all : first;
  const few = live.data !== undefined && (live.data.sums?.length ?? 0) <= STRIPS;
  const strips = useLive(
    "query_throttle_log",
    few ? { filter, group_by: ["LOG_GROUP_IDENTITY", "LOG_GROUP_STEP"], level, step: `${step}s`, page_size: MOST } : undefined,
    Math.max(everyMs, STRIPS_EVERY_MS),
  );
  const heat = strips.data && stripsOf(strips.data.sums ?? [], Date.parse(strips.data.from ?? ""), untilMs(filter, strips.at, toMs), step);
  const timeS = (untilMs(filter, live.at, toMs) - Date.parse(live.data?.from ?? filter.from ?? "")) / 1000;
  return (
    <Card
      title="Identities"
      id="identities"
      wide
      aside={
        <>
          <span class="muted">level {level}{place.sort === "" && ", held back most first"}</span>
          {place.sort !== "" && (
            <button type="button" class="small" onClick={() => go({ sort: "", page: 0 }, true)}>
              Held back most first
            </button>
          )}
        </>
      }
    >
      <Loaded live={live}>
        {(data) => (
          <>
            <Table
              caption="Identities of this level"
              rows={(data.sums ?? []).map((sum) => rowOf(sum, timeS, heat))}
              columns={columns(place.identity, place.target).filter((column) => few || column.key !== "strip")}
              id={(row) => row.identity}
              text={(row) => row.identity}
              pageSize={PAGE}
              isCut={Boolean(data.next_page_token)}
              empty="Nobody was answered in this time. Whoever asks would be listed here, with what was allowed, what was denied and how long it waited."
            />
            {data.next_page_token && (
              <p class="muted">
                These are the {number(data.sums?.length)} that were held back most; {live === all ? "narrow it down" : "search, sort or go on"} to see others.
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}
