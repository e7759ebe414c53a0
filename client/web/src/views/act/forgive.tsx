// Forgiving what an identity owes to a budget: which budget, and which of its buckets.
import { useId, useState } from "preact/hooks";
import { useKept } from "../../state/kept";
import { useLive } from "../../state/live";
import { useRights } from "../../state/rights";
import { number } from "../../text/format";
import { numberOf } from "../../text/health";
import { tagOfSplit } from "../../text/tags";
import { Loaded, Name } from "../../ui/parts";
import { forgive, type Change } from "./changes";
import type { Whom } from "./draft";
import { Actor, Reason } from "./fields";

export function Forgive({ whom, change, onDone }: { whom: Whom; change: Change; onDone: () => void }) {
  const rights = useRights();
  const list = useId();
  const [actor, setActor] = useKept("actor", "");
  const [reason, setReason] = useState("");
  const [picked, setPicked] = useState(whom.budget ?? "");
  const [typed, setTyped] = useState(whom.bucket ?? "");
  const on = whom.target && { target: whom.target };
  const all = useLive("list_budgets", { ...on, page_size: 1000 }, 10_000);
  const tagOf = (name: string | undefined) => tagOfSplit(all.data?.budgets?.find(({ budget }) => budget === name)?.split);
  const value = typed.trim();
  const tags = Object.fromEntries((all.data?.budgets ?? []).flatMap(({ split }) => (tagOfSplit(split) && value ? [[tagOfSplit(split), value]] : [])));
  const live = useLive("explain", all.data && { check: { identity: whom.identity, ...on, tags } });
  const buckets = live.data?.buckets ?? [];
  const budget = buckets.some((bucket) => bucket.budget === picked) ? picked : (buckets[0]?.budget ?? "");
  const tag = tagOf(budget);
  // The names of those that were refused something of late.
  const known = useLive("list_buckets", tag ? { ...on, budget, page_size: 50 } : undefined, 5000);
  const submit = async (event: Event) => {
    event.preventDefault();
    const request = {
      ...{ identity: whom.identity, ...on, budget, reason: reason.trim() },
      ...(tag && { tag_value: value }),
      ...(actor.trim() && { actor: actor.trim() }),
    };
    if (await change.run((api) => forgive(api, request))) onDone();
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <p class="muted">Empties the bucket that its work is charged to. A debt that is forgiven cannot be brought back.</p>
      <Loaded live={live}>
        {() =>
          buckets.length === 0 ? (
            <p>No budget is charged for it, so it owes nothing.</p>
          ) : (
            <fieldset class="choice">
              <legend>Budget</legend>
              {buckets.map((bucket) => (
                <label key={bucket.budget}>
                  <input type="radio" name="budget" checked={bucket.budget === budget} onChange={() => setPicked(bucket.budget ?? "")} />
                  <span>
                    <Name>{bucket.budget}</Name>{" "}
                    <span class="muted">
                      {tagOf(bucket.budget) && !value ? `split by the tag ${tagOf(bucket.budget)}` : `owes ${number(numberOf(bucket.debt))}`}
                    </span>
                  </span>
                </label>
              ))}
            </fieldset>
          )
        }
      </Loaded>
      {tag && (
        <label>
          Its tag {tag}
          <input required list={list} class="mono" value={typed} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />
          <datalist id={list}>{known.data?.buckets?.map(({ bucket }) => bucket && <option key={bucket} value={bucket} />)}</datalist>
        </label>
      )}
      <div class="pair">
        <Reason reason={reason} onInput={setReason} autofocus />
        <Actor rights={rights} actor={actor} onInput={setActor} />
      </div>
      <div class="actions">
        <button type="submit" class="danger" disabled={change.busy || !budget}>
          Forgive what <Name mono>{tag ? value || "it" : whom.identity}</Name> owes to <Name>{budget}</Name>
        </button>
      </div>
    </form>
  );
}
