// Whom an override would have hit in the last hour, before it is made.
import type { RequestOf, ResponseOf } from "../../api/client";
import { useLive, type Live } from "../../state/live";
import { number, plural, span } from "../../text/format";
import { numberOf } from "../../text/health";
import { heldOf } from "../../text/held";
import { Name, Trouble } from "../../ui/parts";
import { useLogOf } from "../log_of";

const SHOWN = 6;
const MOST = 10_000;

export type Hits = Live<ResponseOf<"query_throttle_log">>;

export function useHits({ selector }: RequestOf<"create_override">): Hits {
  return useLive(
    "query_throttle_log",
    {
      filter: {
        ...(selector?.identity && { identity: selector.identity }),
        ...(selector?.segment && { segment: selector.segment }),
        ...(selector?.target && { target: selector.target }),
      },
      group_by: ["LOG_GROUP_IDENTITY"],
      order: "LOG_ORDER_MOST_CHECKS",
      page_size: MOST,
    },
    5000,
  );
}

export function Preview({ hits }: { hits: Hits }) {
  const where = useLogOf();
  const { data, error } = hits;
  if (data === undefined) {
    if (!error) return <p class="empty">Loading…</p>;
    return (
      <>
        <p>Whom it would have hit is not known:</p>
        <Trouble error={error} />
      </>
    );
  }
  const rows = (data.sums ?? []).map((sum) => {
    const passed = numberOf(sum.allowed) + numberOf(sum.would_be_denied);
    return { identity: sum.identity, passed, checks: passed + numberOf(sum.denied), cost: numberOf(sum.allowed_cost), waited: heldOf(sum).waitedS };
  });
  const total = (name: "passed" | "checks" | "cost" | "waited") => rows.reduce((all, row) => all + row[name], 0);
  const source = where && (
    <p class="muted">
      By the log of server <Name>{where}</Name>; what the others decided is in theirs.
    </p>
  );
  if (rows.length === 0) {
    return (
      <>
        <p>
          {where ? "In the last hour this server decided no such Check" : "In the last hour no such Check was decided"}: it would have hit nobody.
        </p>
        {source}
      </>
    );
  }
  return (
    <>
      <p>
        In the last hour this would have hit{" "}
        <strong>
          {plural(rows.length, "identity", "identities")}
          {data.next_page_token && " or more"}, {plural(total("checks"), "Check")}
        </strong>
        , of which {number(total("passed"))} were allowed at a cost of {number(total("cost"))}
        {total("waited") > 0 && `; they waited ${span(total("waited"))} in all`}:
      </p>
      <ul class="hit">
        {rows.slice(0, SHOWN).map((row) => (
          <li key={row.identity}>
            <Name mono>{row.identity}</Name> <span class="muted">{plural(row.checks, "Check")}</span>
          </li>
        ))}
        {rows.length > SHOWN && <li class="muted">and {number(rows.length - SHOWN)} more</li>}
      </ul>
      {source}
    </>
  );
}
