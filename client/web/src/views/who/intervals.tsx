// When Checks were denied, and by what, in sentences; many identities as groups.
import { useLive } from "../../state/live";
import { time } from "../../text/format";
import { Link } from "../../ui/link";
import { Card, Empty, Loaded, Name } from "../../ui/parts";
import { clock } from "../../state/clock";
import { GroupRow } from "../held/group_row";
import { groupsOf, type Interval } from "../held/grouping";
import type { Filter } from "../log_filter";

const MOST = 200;
// More identities than this are shown as groups.
const SHOWN = 8;

export function Intervals({ filter, now, everyMs }: { filter: Filter; now: number; everyMs: number }) {
  const live = useLive("list_throttled_intervals", { filter, newest_first: true, page_size: MOST }, everyMs);
  const isCut = Boolean(live.data?.next_page_token);
  const asOf = live.at === undefined ? now : clock.now(live.at);
  return (
    <Card title="When, and by what" id="intervals" aside={isCut && <span class="muted">the newest {MOST} of more</span>}>
      <Loaded live={live}>
        {({ intervals = [] }) => {
          if (intervals.length === 0) return <Empty>At no time was half of the Checks denied, or half of the time waited. When, and by what, would be said here.</Empty>;
          const isMany = new Set(intervals.map(({ identity }) => identity)).size > SHOWN;
          return (
            <ul class="rows tall" tabIndex={0}>
              {isMany
                ? groupsOf(intervals, asOf).map((group) => <GroupRow key={group.key} group={group} count={undefined} isAtLeast={isCut} asOf={asOf} showsTarget={!filter.target} />)
                : intervals.map((interval, i) => <Row key={i} interval={interval} now={now} showsTarget={!filter.target} />)}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
}

function Row({ interval, now, showsTarget }: { interval: Interval; now: number; showsTarget: boolean }) {
  return (
    <li class="row">
      <Link to={{ identity: interval.identity ?? "" }}>
        <Name mono>{interval.identity}</Name>
      </Link>
      {showsTarget && interval.target && (
        <span class="muted">
          {" "}
          on <Name>{interval.target}</Name>
        </span>
      )}
      <p title={`${time(interval.from, now)} to ${time(interval.to, now)} UTC`}>
        <Name>{interval.message}</Name>
      </p>
    </li>
  );
}
