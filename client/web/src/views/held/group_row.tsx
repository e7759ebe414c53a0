// Jobs of one root that the same thing holds back, in one row; each by itself behind a click.
import { causeText } from "../../text/cause";
import { number, plural } from "../../text/format";
import { heldText, weightOf } from "../../text/held";
import { Link } from "../../ui/link";
import { Name, OnTarget } from "../../ui/parts";
import { Actions } from "../act/actions";
import { mostOf, type Count, type Group } from "./grouping";
import { WhenBadge } from "./when_badge";

const SHOWN = 10;

interface Props {
  group: Group;
  count: Count | undefined; // of all of them, where the intervals are only the newest
  isAtLeast: boolean;
  asOf: number;
  showsTarget: boolean;
}

export function GroupRow({ group, count, isAtLeast, asOf, showsTarget }: Props) {
  const { root, target } = group;
  const identities = Math.max(count?.identities ?? 0, group.identities);
  const [only] = group.intervals;
  const most = mostOf(group);
  const identity = identities === 1 ? (only?.identity ?? root) : root; // empty: they have no root in common
  const rest = identities - SHOWN;
  const held = count && weightOf(count.held) > weightOf(group.held) ? count.held : group.held;
  const to = { view: "who" as const, segment: "", ...(target && showsTarget && { target }) };
  return (
    <li class="row">
      <div class="row-head">
        {identity && (
          <Link to={{ ...to, identity, range: "15m" }}>
            <Name mono>{identity}</Name>
          </Link>
        )}
        {showsTarget && target && (
          <span class="muted">
            <OnTarget target={target} />
          </span>
        )}
        {identities > 1 && (
          <span>
            {plural(identities, "identity", "identities")}
            {isAtLeast && " or more"}
          </span>
        )}
        <WhenBadge from={group.from} to={group.to} asOf={asOf} />
        <strong class="end">{heldText(held)}</strong>
      </div>
      <p>
        By <Name>{causeText(group.cause)}</Name>
        {most && (
          <>
            , most of all{" "}
            <Link to={{ ...to, identity: most.identity, range: "15m" }}>
              <Name mono>{most.identity}</Name>
            </Link>{" "}
            ({heldText(most.held)})
          </>
        )}
      </p>
      {identity && <Actions whom={{ identity, target, budget: group.cause.budget }} />}
      {group.intervals.length > 1 && (
        <details>
          <summary>Each by itself</summary>
          <ul class="rows">
            {group.intervals.slice(0, SHOWN).map((interval, i) => (
              <li class="row" key={i}>
                <div class="row-head">
                  <Link to={{ ...to, identity: interval.identity ?? "" }}>
                    <Name mono>{interval.identity}</Name>
                  </Link>
                  <Actions whom={{ identity: interval.identity ?? "", target, budget: group.cause.budget }} short />
                </div>
                <p>
                  <Name>{interval.message}</Name>
                </p>
              </li>
            ))}
            {rest > 0 && (
              <li class="row">
                <Link to={{ ...to, identity: root, range: "15m" }}>{number(rest)} more under Who</Link>
              </li>
            )}
          </ul>
        </details>
      )}
    </li>
  );
}
