// Making an override of whoever is typed in, in two steps: first whom it would have hit, then doing it.
import { useState } from "preact/hooks";
import { useKept } from "../../state/kept";
import { useRights } from "../../state/rights";
import { usePlace } from "../../state/url";
import { Card, Name, OnTarget, Trouble } from "../../ui/parts";
import { make, takeFocus, useChange, WhatWasDone } from "./changes";
import { changed, draftAt, EMPTY, kindOf, requestOf, type Create, type Draft, type Kind } from "./draft";
import { Actor, Choice, Ends, kindsFor, Reason, Share } from "./fields";
import { Preview, useHits } from "./preview";
import { isUnused, Unused } from "./unused";

export function StepIn({ targets }: { targets: readonly string[] }) {
  const rights = useRights();
  const place = usePlace();
  const [kept, setKept] = useKept("draft", EMPTY);
  const [actor, setActor] = useKept("actor", "");
  const [previewed, setPreviewed] = useState<{ request: Create; at: string }>();
  const { busy, error, done, run } = useChange();
  const kinds = kindsFor(rights, false);
  const draft = draftAt(kinds.includes(kept.kind) ? kept : changed(kept, { kind: kinds[0] ?? kept.kind }), place);
  const set = (change: Partial<Draft>) => {
    setKept(changed(draft, change));
    setPreviewed(undefined);
  };
  const doIt = async (request: Create) => {
    if (!(await run((api) => make(api, request)))) return;
    setPreviewed(undefined);
    setKept(EMPTY);
  };
  if (kinds.length === 0) {
    return (
      <Card title="Step in" id="step-in">
        {done && <WhatWasDone done={done} busy={busy} run={run} />}
        {error ? <Trouble error={error} doing /> : <p class="refusal">You are granted no overrides of identities: what is in force is shown, and cannot be changed by you.</p>}
      </Card>
    );
  }
  return (
    <Card title="Step in" id="step-in">
      {done && <WhatWasDone done={done} busy={busy} run={run} />}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          setPreviewed({ request: requestOf(draft, actor), at: draft.lookedAt });
        }}
      >
        <Choice choices={kinds.map((kind) => [kind, kindOf(kind).verb] as const)} chosen={draft.kind} onChoose={(kind) => set({ kind: kind as Kind })} />
        <Share draft={draft} set={set} />
        <Whom draft={draft} set={set} mayAll={rights.may("everything")} />
        {targets.length !== 1 && (
          <label>
            Target
            <input list="targets" placeholder="all targets" value={draft.target} onInput={(event) => set({ target: event.currentTarget.value })} />
          </label>
        )}
        <Reason reason={draft.reason} onInput={(reason) => set({ reason })} />
        <div class="pair">
          <Ends draft={draft} set={set} />
          <Actor rights={rights} actor={actor} onInput={setActor} />
        </div>
        {previewed?.at !== draft.lookedAt && (
          <button type="submit" class="primary">
            Preview
          </button>
        )}
      </form>
      {previewed?.at === draft.lookedAt && (
        <Confirm
          draft={draft}
          request={previewed.request}
          busy={busy}
          onDo={() => void doIt(previewed.request)}
          onChange={() => setPreviewed(undefined)}
          onName={(name) => set({ name })}
        >
          <OrderText draft={draft} isOnly={targets.length === 1} />
        </Confirm>
      )}
      {error && <Trouble error={error} doing />}
    </Card>
  );
}

// "Pause nightly:etl on orders".
export function OrderText({ draft, isOnly }: { draft: Draft; isOnly: boolean }) {
  const target = draft.target.trim();
  return (
    <>
      {kindOf(draft.kind).verb} {draft.whom === "everything" ? "everything" : <Name mono>{draft.name}</Name>}
      <OnTarget target={target} isOnly={isOnly} />
    </>
  );
}

function Whom({ draft, set, mayAll }: { draft: Draft; set: (change: Partial<Draft>) => void; mayAll: boolean }) {
  const canBeAll = mayAll && draft.kind !== "OVERRIDE_KIND_EXEMPT";
  return (
    <div class="pair">
      <label>
        Whom
        <select value={draft.whom} onChange={(event) => set({ whom: event.currentTarget.value as Draft["whom"] })}>
          <option value="identity">an identity and all below it</option>
          <option value="segment">a segment, wherever it stands</option>
          {canBeAll && <option value="everything">everything</option>}
        </select>
      </label>
      {draft.whom !== "everything" && (
        <label>
          {draft.whom === "identity" ? "Identity" : "Segment"}
          <input required class="mono" autocomplete="off" value={draft.name} onInput={(event) => set({ name: event.currentTarget.value })} />
        </label>
      )}
    </div>
  );
}

// It can be done once the answer is there, or nobody can have it.
function Confirm(props: {
  draft: Draft;
  request: Create;
  busy: boolean;
  onDo: () => void;
  onChange: () => void;
  onName: (name: string) => void;
  children: preact.ComponentChildren;
}) {
  const hits = useHits(props.request);
  const [meant, setMeant] = useState(false);
  const unused = isUnused(props.request, hits);
  const isKnown = hits.data !== undefined || hits.error !== undefined;
  const isPause = props.request.kind === "OVERRIDE_KIND_PAUSE";
  return (
    <div class="confirm" tabIndex={-1} ref={takeFocus} role="group" aria-label="Whom it would have hit">
      <div aria-live="polite">
        <Preview hits={hits} />
      </div>
      {unused && <Unused draft={props.draft} meant={meant} onMeant={setMeant} onName={props.onName} />}
      <div class="actions">
        <button type="button" class={isPause ? "danger" : "primary"} disabled={props.busy || !isKnown || (unused && !meant)} onClick={props.onDo}>
          {props.children}
        </button>
        <button type="button" onClick={props.onChange}>
          Change it
        </button>
      </div>
    </div>
  );
}
