// The lines of those who wait: what for, who is next, and when.
import type { Schemas } from "../api/client";
import { useLive, useOnScreen } from "../state/live";
import { duration, number, plural } from "../text/format";
import { Card, Empty, Loaded, Name } from "../ui/parts";
import { Link } from "../ui/link";

type Line = Schemas["LineStatus"];

export function Lines({ target, waiting, has }: { target: string; waiting: number; has: boolean }) {
  const [element, seen] = useOnScreen();
  const live = useLive("list_lines", seen && waiting > 0 ? { target, page_size: 8, waiters: 5 } : undefined);
  return (
    <Card title="Who waits" id="lines" element={element} aside={<span class="muted">{number(waiting)} in line</span>}>
      {waiting === 0 ? (
        <Empty>{has ? "Nobody waits." : "This server lets nobody wait."}</Empty>
      ) : (
        <Loaded live={live}>
          {(data) =>
            data.lines?.length ? (
              <>
                {data.lines.map((line, i) => (
                  <OneLine key={i} line={line} />
                ))}
                {Number(data.lines_in_all ?? 0) > data.lines.length && (
                  <p class="muted">{number(Number(data.lines_in_all) - data.lines.length)} more lines, shorter waits</p>
                )}
              </>
            ) : (
              <Empty>Nobody waits here.</Empty>
            )
          }
        </Loaded>
      )}
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

function OneLine({ line }: { line: Line }) {
  return (
    <div class="line">
      <p>
        <strong>{plural(Number(line.waiting ?? 0), "Check")}</strong> <WaitsFor line={line} />
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
            <Link to={{ view: "who", identity: waiter.identity ?? "" }}>
              <Name mono>{waiter.identity}</Name>
            </Link>
            <span class="muted end">
              cost {number(waiter.cost)} · waits {duration(waiter.waited)}
              {waiter.priority ? ` · priority ${waiter.priority}` : ""}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
