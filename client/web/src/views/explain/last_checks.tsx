// How the job asked last, when it was allowed and when it was denied: to explain that Check instead of another one.
import type { Schemas } from "../../api/client";
import { useNow } from "../../state/live";
import { number, time } from "../../text/format";
import { tagText } from "../../text/tags";
import { Badge, Name } from "../../ui/parts";
import type { Asked } from "./fields";

type Check = Schemas["LastCheck"];
type Values = Pick<Asked, "cost" | "pattern" | "tags">;

const valuesOf = ({ estimated_cost, pattern = "", tags = {} }: Check): Values => ({ cost: estimated_cost === undefined ? "" : String(estimated_cost), pattern, tags: tagText(tags) });

export function LastChecks({ checks, take }: { checks: readonly Check[]; take: (values: Values) => void }) {
  const now = useNow(10_000);
  if (checks.length === 0) return null;
  return (
    <>
      <h3>As it asked last</h3>
      <ul class="rows">
        {checks.map((check) => {
          const values = valuesOf(check);
          const isAllowed = check.verdict === "VERDICT_ALLOWED";
          return (
            <li class="row" key={check.verdict}>
              <div class="row-head">
                <span class="muted">{time(check.at, now)}</span>
                <Badge tone={isAllowed ? "good" : "bad"}>{isAllowed ? "allowed" : "denied"}</Badge>
                <span class="end">
                  <button type="button" class="small" onClick={() => take(values)} aria-label={`Explain this Check that was ${isAllowed ? "allowed" : "denied"}`}>
                    Explain this Check
                  </button>
                </span>
              </div>
              <p>
                {values.cost ? `cost ${number(values.cost)}` : "no cost given"}, predicted {number(check.predicted_cost)}
                {values.pattern && (
                  <>
                    {" "}
                    · pattern <Name mono>{values.pattern}</Name>
                  </>
                )}
                {values.tags && (
                  <>
                    {" "}
                    · <Name mono>{values.tags}</Name>
                  </>
                )}
              </p>
            </li>
          );
        })}
      </ul>
    </>
  );
}
