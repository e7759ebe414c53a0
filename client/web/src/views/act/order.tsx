// An order about one identity, or everything, on one target or all: what, for how long and why, and whom it would have hit.
import { useState } from "preact/hooks";
import { useKept } from "../../state/kept";
import { useRights } from "../../state/rights";
import { levelsOf } from "../../text/nearest";
import { Trouble } from "../../ui/parts";
import { Already } from "./already";
import { make, useChange, type Change } from "./changes";
import { DoneAndClose } from "./done_and_close";
import { changed, EMPTY, inForce, kindOf, requestOf, type Draft, type Kind, type What, type Whom } from "./draft";
import { Actor, Choice, Ends, kindsFor, Reason, Share } from "./fields";
import { Forgive } from "./forgive";
import { Preview, useHits } from "./preview";
import { OrderText } from "./step_in";
import { isUnused, Unused } from "./unused";
import { useOverrides } from "./use_overrides";

export function Order({ what: first, whom, isSingle, onClose }: { what: What; whom: Whom; isSingle: boolean; onClose: () => void }) {
  const rights = useRights();
  const [what, setWhat] = useState(first);
  const [isDone, setDone] = useState(false);
  const change = useChange();
  const { error } = change;
  const kinds: readonly What[] = [...kindsFor(rights, !whom.identity), ...(whom.identity && rights.may("forgive") ? ["forgive" as const] : [])];
  if (isDone) return <DoneAndClose change={change} onClose={onClose} />;
  const chosen = kinds.includes(what) ? what : kinds[0];
  return (
    <div class="form">
      <Choice choices={kinds.map((kind) => [kind, kind === "forgive" ? "Forgive debt" : kindOf(kind).verb] as const)} chosen={chosen ?? ""} onChoose={(kind) => setWhat(kind as What)} />
      {chosen === undefined && <p class="refusal">You are granted none of these orders.</p>}
      {chosen === "forgive" && <Forgive whom={whom} change={change} onDone={() => setDone(true)} />}
      {chosen !== undefined && chosen !== "forgive" && <Override kind={chosen} whom={whom} isSingle={isSingle} change={change} onDone={() => setDone(true)} />}
      {error && <Trouble error={error} doing />}
    </div>
  );
}

function Override(props: { kind: Kind; whom: Whom; isSingle: boolean; change: Change; onDone: () => void }) {
  const { whom, isSingle, change } = props;
  const rights = useRights();
  const [actor, setActor] = useKept("actor", "");
  const [typed, setTyped] = useState<Draft>({ ...EMPTY, whom: whom.identity ? "identity" : "everything", name: whom.identity, target: whom.target });
  const [meant, setMeant] = useState(false);
  const draft = { ...typed, kind: props.kind };
  const set = (part: Partial<Draft>) => setTyped(changed(draft, part));
  const request = requestOf(draft, actor);
  const already = inForce(useOverrides().data?.overrides ?? [], request);
  const hits = useHits(request);
  const unused = isUnused(request, hits);
  const isKnown = hits.data !== undefined || hits.error !== undefined;
  const levels = levelsOf(whom.identity);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await change.run((api) => make(api, request))) props.onDone();
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      {!already && <Share draft={draft} set={set} />}
      {levels.length > 1 && (
        <label>
          Whom
          <select class="mono" value={draft.name} onChange={(event) => set({ name: event.currentTarget.value })}>
            {levels.map((level, i) => (
              <option key={level} value={level}>
                {level}
                {i > 0 && " and all below it"}
              </option>
            ))}
          </select>
        </label>
      )}
      {already ? (
        <Already order={already} />
      ) : (
        <>
          <Reason reason={draft.reason} onInput={(reason) => set({ reason })} autofocus />
          <div class="pair">
            <Ends draft={draft} set={set} />
            <Actor rights={rights} actor={actor} onInput={setActor} />
          </div>
          <div class="confirm" aria-live="polite" role="group" aria-label="Whom it would have hit">
            <Preview hits={hits} />
            {unused && <Unused draft={draft} meant={meant} onMeant={setMeant} />}
          </div>
          <div class="actions">
            <button type="submit" class={draft.kind === "OVERRIDE_KIND_PAUSE" ? "danger" : "primary"} disabled={change.busy || !isKnown || (unused && !meant)}>
              <OrderText draft={draft} isOnly={isSingle} />
            </button>
          </div>
        </>
      )}
    </form>
  );
}
