// One interval, with what denies now, and what can be done about it.
import type { Schemas } from "../../api/client";
import { causeKey, causeText, overrideOf, type Cause } from "../../text/cause";
import { percent, plural } from "../../text/format";
import { Link } from "../../ui/link";
import { Name, OnTarget } from "../../ui/parts";
import { Actions } from "../act/actions";
import type { Override } from "../act/draft";
import { EndButton } from "../act/orders";
import { isRecent, type Interval } from "./grouping";
import { WhenBadge } from "./when_badge";

type Denial = Schemas["Denial"];

// What denied the newest Check of those that are denied now, where something else denied most.
export function causeNow(interval: Interval, denials: readonly Denial[], asOf: number): Cause | undefined {
  if (!isRecent(interval.to, asOf)) return undefined;
  const newest = denials.find(({ identity, target, outcome }) => identity === interval.identity && target === interval.target && outcome === "OUTCOME_DENIED");
  if (!newest?.cause || !isRecent(newest.at, asOf)) return undefined;
  const most = interval.causes?.[0];
  // An order is named in any case, with the way back.
  const isSaid = most && causeKey(most) === causeKey(newest.cause) && !overrideOf(newest.cause.rule);
  return isSaid ? undefined : newest.cause;
}

// "waited 82 % of the time, 12 denials".
export function shareText({ waited_ratio, denied }: Interval): string {
  const waited = Number(waited_ratio ?? 0);
  const count = Number(denied ?? 0);
  // As the server's sentence has it, which stands below.
  const rounded = waited < 0.01 ? waited : Math.round(waited * 100) / 100;
  return [...(waited > 0 ? [`waited ${percent(rounded)} of the time`] : []), ...(count > 0 || waited === 0 ? [plural(count, "denial")] : [])].join(", ");
}

interface Props {
  interval: Interval;
  earlier: number; // intervals of it that are not shown
  denials: readonly Denial[];
  overrides: readonly Override[];
  asOf: number;
  showsTarget: boolean;
}

export function IntervalRow({ interval, earlier, denials, overrides, asOf, showsTarget }: Props) {
  const now = causeNow(interval, denials, asOf);
  const order = now && overrides.find(({ id }) => id === overrideOf(now.rule));
  const { identity = "", target = "" } = interval;
  return (
    <li class="row">
      <div class="row-head">
        <Link to={{ view: "who", identity, segment: "", ...(target && showsTarget && { target }) }}>
          <Name mono>{identity}</Name>
        </Link>
        {showsTarget && target && (
          <span class="muted">
            <OnTarget target={target} />
          </span>
        )}
        <WhenBadge from={interval.from} to={interval.to} asOf={asOf} />
        <strong class="end">{shareText(interval)}</strong>
      </div>
      {now && (
        <p>
          <strong>
            Now by <Name>{causeText(now)}</Name>
          </strong>{" "}
          {order && <EndButton override={order} name="Undo" />}
        </p>
      )}
      <p class={now ? "muted" : ""}>
        <Name>{interval.message}</Name>
        {earlier > 0 && (
          <span class="muted">
            {" "}
            ·{" "}
            <Link to={{ view: "who", identity, segment: "", range: "15m", ...(target && showsTarget && { target }) }}>
              {plural(earlier, "earlier time")}
            </Link>
          </span>
        )}
      </p>
      <Actions whom={{ identity, target, budget: interval.causes?.[0]?.budget }} />
    </li>
  );
}
