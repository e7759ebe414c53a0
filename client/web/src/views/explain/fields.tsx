// The Check in question, as it is typed: all that decides what it is answered.
import { useState } from "preact/hooks";
import type { Place } from "../../state/url";
import { tagsOf } from "../../text/tags";

export type Asked = Pick<Place, "identity" | "target" | "cost" | "pattern" | "tags">;

export function Fields({ targets, asked, ask }: { targets: readonly string[]; asked: Asked; ask: (asked: Asked) => void }) {
  const { identity, target, cost, pattern, tags } = asked;
  const [typed, setTyped] = useState<Asked>({ identity, target, cost, pattern, tags });
  const set = (change: Partial<Asked>) => setTyped({ ...typed, ...change });
  const submit = (event: Event) => {
    event.preventDefault();
    ask(Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()])) as unknown as Asked);
  };
  return (
    <form class="form" onSubmit={submit}>
      <div class="row-of-fields">
        <label class="grow">
          Identity of the job
          <input required class="mono" placeholder="job-7:etl" autocomplete="off" value={typed.identity} onInput={(event) => set({ identity: event.currentTarget.value })} />
        </label>
        {(targets.length > 1 || target !== "") && (
          <label>
            Target of the job
            <input required list="targets" value={typed.target} onInput={(event) => set({ target: event.currentTarget.value })} />
          </label>
        )}
        <label>
          Cost
          <input type="number" min={0} step="any" placeholder="predicted" value={typed.cost} onInput={(event) => set({ cost: event.currentTarget.value })} />
        </label>
        <label>
          Pattern
          <input class="mono" placeholder="none" autocomplete="off" maxLength={1024} value={typed.pattern} onInput={(event) => set({ pattern: event.currentTarget.value })} />
        </label>
        <label class="grow">
          Tags
          <input
            class="mono"
            placeholder="tenant=acme, region=eu"
            autocomplete="off"
            value={typed.tags}
            onInput={(event) => {
              const input = event.currentTarget;
              input.setCustomValidity(tagsOf(input.value) ? "" : "Tags are written tenant=acme, region=eu.");
              set({ tags: input.value });
            }}
          />
        </label>
        <button type="submit" class="primary">
          Explain
        </button>
      </div>
    </form>
  );
}
