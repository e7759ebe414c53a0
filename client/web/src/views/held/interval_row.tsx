// One interval, with what denies now, and what can be done about it.
import type { Schemas } from "../../api/client";
import { causeKey, causeText } from "../../text/cause";
import { plural } from "../../text/format";
import { Link } from "../../ui/link";
import { Name } from "../../ui/parts";
import { Actions } from "../act/actions";
import type { Interval } from "./grouping";
import { isRecent, WhenBadge } from "./when_badge";

type Denial = Schemas["Denial"];

// What denied the newest Check of those that are denied now, where something else denied most.
export function causeNow(interval: Interval, denials: readonly Denial[], asOf: number): string {
  if (!isRecent(interval.to, asOf)) return "";
  const newest = denials.find(({ identity, target, outcome }) => identity === interval.identity && target === interval.target && outcome === "OUTCOME_DENIED");
  if (!newest?.cause || !isRecent(newest.at, asOf)) return "";
  const most = interval.causes?.[0];
  return most && causeKey(most) === causeKey(newest.cause) ? "" : causeText(newest.cause);
}

interface Props {
  interval: Interval;
  earlier: number; // intervals of it that are not shown
  denials: readonly Denial[];
  asOf: number;
  showsTarget: boolean;
}

export function IntervalRow({ interval, earlier, denials, asOf, showsTarget }: Props) {
  const now = causeNow(interval, denials, asOf);
  const { identity = "", target = "" } = interval;
  return (
    <li class="row">
      <div class="row-head">
        <Link to={{ view: "who", identity, segment: "", ...(target && showsTarget && { target }) }}>
          <Name mono>{identity}</Name>
        </Link>
        {showsTarget && target && (
          <span class="muted">
            on <Name>{target}</Name>
          </span>
        )}
        <WhenBadge from={interval.from} to={interval.to} asOf={asOf} />
        <strong class="end">{plural(Number(interval.denied ?? 0), "denial")}</strong>
      </div>
      {now && (
        <p>
          <strong>
            Now by <Name>{now}</Name>
          </strong>
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
