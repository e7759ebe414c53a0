// A name that nobody has used for an hour is probably misspelt: that is said, and asked, before it is acted on.
import { useLive } from "../../state/live";
import { nearest } from "../../text/nearest";
import { Name } from "../../ui/parts";
import type { Create, Draft } from "./draft";
import type { Hits } from "./preview";

export const isUnused = (request: Create, hits: Hits) => !request.selector?.everything && hits.data !== undefined && !hits.data.sums?.length;

export function Unused(props: { draft: Draft; meant: boolean; onMeant: (meant: boolean) => void; onName?: (name: string) => void }) {
  const { draft, meant, onMeant, onName } = props;
  const target = draft.target.trim();
  const known = useLive(
    "query_throttle_log",
    { filter: target ? { target } : {}, group_by: ["LOG_GROUP_IDENTITY"], order: "LOG_ORDER_MOST_CHECKS", page_size: 1000 },
    30_000,
  );
  const names = (known.data?.sums ?? []).map((sum) => sum.identity ?? "");
  const near = draft.whom === "identity" && onName ? nearest(draft.name.trim(), names) : [];
  return (
    <div class="ask">
      <p role="alert">
        <strong>
          Nobody has used <Name mono>{draft.name}</Name>
          {target && (
            <>
              {" "}
              on <Name>{target}</Name>
            </>
          )}{" "}
          in the last hour.
        </strong>{" "}
        Is it spelt as it should be?
      </p>
      {near.length > 0 && (
        <p class="actions">
          {near.map((name) => (
            <button key={name} type="button" class="small" onClick={() => onName?.(name)}>
              Take <Name mono>{name}</Name>
            </button>
          ))}
        </p>
      )}
      <label class="check">
        <input type="checkbox" checked={meant} onChange={(event) => onMeant(event.currentTarget.checked)} />I mean it, for whoever comes under this name
      </label>
    </div>
  );
}
