// The last denials in full.
import { useLive } from "../../state/live";
import { usePlace } from "../../state/url";
import { duration, number, time, word } from "../../text/format";
import { Link } from "../../ui/link";
import { Card, Empty, Loaded, Name } from "../../ui/parts";

export function Denials({ now }: { now: number }) {
  const { identity, segment, target } = usePlace();
  const whose = { ...(identity && { identity }), ...(segment && { segment }), ...(target && { target }) };
  const live = useLive("list_denials", { ...whose, page_size: 30 });
  return (
    <Card title="Last denials" id="denials">
      <Loaded live={live}>
        {(data) =>
          data.denials?.length ? (
            <ul class="rows tall" tabIndex={0}>
              {data.denials.map((denial) => (
                <li class="row" key={denial.number}>
                  <div class="row-head">
                    <span class="muted">{time(denial.at, now)}</span>
                    <Link to={{ identity: denial.identity ?? "", segment: "" }}>
                      <Name mono>{denial.identity}</Name>
                    </Link>
                    {!target && denial.target && (
                      <span class="muted">
                        on <Name>{denial.target}</Name>
                      </span>
                    )}
                    <span class="muted end">cost {number(denial.predicted_cost)}</span>
                  </div>
                  <p>
                    {denial.outcome === "OUTCOME_WOULD_BE_DENIED" && "would be denied by "}
                    {word(denial.cause?.reason, "REASON_")}
                    {(["budget", "rule", "signal"] as const).map(
                      (kind) =>
                        denial.cause?.[kind] && (
                          <span key={kind}>
                            {" "}
                            · {kind} <Name>{denial.cause[kind]}</Name>
                          </span>
                        ),
                    )}
                    {denial.cause?.limit !== undefined && ` · ${number(denial.cause.peak)} where the limit is ${number(denial.cause.limit)}`}
                    <span class="muted whole"> · {denial.retry_after ? `again in ${duration(denial.retry_after)}` : "waiting cannot help"}</span>
                  </p>
                </li>
              ))}
            </ul>
          ) : (
            <Empty>The server has denied nothing of this since it started; who waits is not denied yet. Each denial would be listed here, with its cost, its cause and when to ask again.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}
