// The lines of those who wait: what for, who is next, and when.
import type { Schemas } from "../api/client";
import { duration, number, plural } from "../text/format";
import { Card, Empty, Name } from "../ui/parts";
import { Link } from "../ui/link";
import { Actions } from "./act/actions";

type Line = Schemas["LineStatus"];

// Status has the longest of them, so they are not asked for once more.
// As many lines as status names; there may be more then.
const MOST = 5;

// Checks in the lines that are named, which are those of the target that was asked for. The count of all is of all targets.
export const inLines = (waiting: Schemas["WaitingStatus"] | undefined) =>
  (waiting?.longest ?? []).reduce((all, line) => all + Number(line.waiting ?? 0), 0);

export function Lines({ waiting, of }: { waiting: Schemas["WaitingStatus"] | undefined; of: string | undefined }) {
  const lines = waiting?.longest ?? [];
  const count = of ? inLines(waiting) : Number(waiting?.waiting ?? 0);
  const isMore = lines.length === MOST && Number(waiting?.lines ?? 0) > MOST;
  return (
    <Card title="Who waits" id="lines" aside={<span class="muted">{number(count)} in line{of && isMore && " or more"}</span>}>
      {lines.length === 0 && <Empty>{waiting ? "Nobody waits here. Jobs that wait for room, for a gate or for the end of a pause would stand here, the next one first." : "This server lets nobody wait."}</Empty>}
      {lines.map((line, i) => (
        <OneLine key={i} line={line} of={of} />
      ))}
      {isMore && <p class="muted">These are the {MOST} lines in which somebody has waited for longest.</p>}
    </Card>
  );
}

function WaitsFor({ line }: { line: Line }) {
  if (line.budget) {
    return (
      <>
        for room in <Name>{line.budget}</Name>
        {line.bucket && (
          <>
            {" "}
            of <Name mono>{line.bucket}</Name>
          </>
        )}
      </>
    );
  }
  if (line.profile) {
    return (
      <>
        until health <Name>{line.profile}</Name> recovers
      </>
    );
  }
  if (line.rule) {
    return (
      <>
        for the end of <Name>{line.rule}</Name>
      </>
    );
  }
  return <>for a permit</>;
}

function OneLine({ line, of }: { line: Line; of: string | undefined }) {
  return (
    <div class="line">
      <p>
        <strong>{plural(Number(line.waiting ?? 0), "Check")}</strong>{!of && line.target && <> on <Name>{line.target}</Name></>} <WaitsFor line={line} />
        <span class="muted">
          {" "}
          · longest {duration(line.longest_waited)} ·{" "}
          {line.expected_turn === undefined ? "nobody can know when the next turn is" : `next turn in ${duration(line.expected_turn)}`}
        </span>
      </p>
      <ol class="queue">
        {(line.next ?? []).map((waiter) => (
          <li key={waiter.position} value={Number(waiter.position)}>
            <span class="position">{number(waiter.position)}</span>
            <Link to={{ view: "who", identity: waiter.identity ?? "", segment: "", ...(line.target && { target: line.target }) }}>
              <Name mono>{waiter.identity}</Name>
            </Link>
            <span class="muted end">
              {line.budget && `cost ${number(waiter.cost)} · `}waits {duration(waiter.waited)}
              {waiter.priority ? ` · priority ${waiter.priority}` : ""}
            </span>
            <Actions whom={{ identity: waiter.identity ?? "", target: line.target ?? "", budget: line.budget, bucket: line.bucket }} explain={line.budget ? { cost: String(waiter.cost ?? "") } : {}} />
          </li>
        ))}
      </ol>
    </div>
  );
}
