// Making an override in two steps, first whom it would have hit, then doing it; and ending one.
import { useState } from "preact/hooks";
import { useKept } from "../state/kept";
import { usePlace } from "../state/url";
import { Card, Name, Trouble } from "../ui/parts";
import { end, make, takeFocus, useChange, WhatWasDone } from "./changes";
import { changed, EMPTY, requestOf, type Create, type Draft, type Override } from "./draft";
import { Preview, useHits } from "./preview";

const DOES: readonly [Draft["kind"], string, string][] = [
  ["OVERRIDE_KIND_PAUSE", "Pause", "Every Check is denied."],
  ["OVERRIDE_KIND_THROTTLE", "Throttle", "A share of Checks is denied."],
  ["OVERRIDE_KIND_EXEMPT", "Exempt", "Every Check passes, held back by nothing."],
  ["OVERRIDE_KIND_RESUME", "Resume", "What pauses or throttles it is lifted; budgets and health still count."],
];
const ENDS: readonly [string, string][] = [
  ["600s", "10 minutes"],
  ["3600s", "1 hour"],
  ["14400s", "4 hours"],
  ["86400s", "1 day"],
  ["604800s", "1 week"],
  ["never", "never"],
];

export function NewOverride({ targets, asksWho }: { targets: readonly string[]; asksWho: boolean }) {
  const place = usePlace();
  const [draft, setDraft] = useKept("draft", EMPTY);
  const [previewed, setPreviewed] = useState<Create>();
  const { busy, error, done, run } = useChange();
  const set = (change: Partial<Draft>) => {
    setDraft(changed(draft, change));
    setPreviewed(undefined);
  };
  const target = draft.target ?? place.target;
  const [, verb, effect] = DOES.find(([kind]) => kind === draft.kind)!;
  const doIt = async (request: Create) => {
    if (!(await run((api) => make(api, request)))) return;
    setPreviewed(undefined);
    setDraft({ ...EMPTY, actor: draft.actor });
  };

  return (
    <Card title="Step in" id="step-in">
      {done && <WhatWasDone done={done} busy={busy} run={run} />}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          setPreviewed(requestOf(draft, place.target));
        }}
      >
        <fieldset class="choice">
          <legend>What</legend>
          {DOES.map(([kind, name]) => (
            <label key={kind}>
              <input type="radio" name="kind" checked={draft.kind === kind} onChange={() => set({ kind })} />
              {name}
            </label>
          ))}
        </fieldset>
        <p class="muted">{effect}</p>
        {draft.kind === "OVERRIDE_KIND_THROTTLE" && (
          <label>
            Share that is denied, %
            <input type="number" min={0.1} max={100} step={0.1} required value={draft.percent} onInput={(event) => set({ percent: event.currentTarget.valueAsNumber })} />
          </label>
        )}
        <div class="pair">
          <label>
            Whom
            <select value={draft.whom} onChange={(event) => set({ whom: event.currentTarget.value as Draft["whom"] })}>
              <option value="identity">an identity and all below it</option>
              <option value="segment">a segment, wherever it stands</option>
              {draft.kind !== "OVERRIDE_KIND_EXEMPT" && <option value="everything">everything</option>}
            </select>
          </label>
          {draft.whom !== "everything" && (
            <label>
              {draft.whom === "identity" ? "Identity" : "Segment"}
              <input required class="mono" autocomplete="off" value={draft.name} onInput={(event) => set({ name: event.currentTarget.value })} />
            </label>
          )}
        </div>
        {targets.length !== 1 && (
          <label>
            Target
            <input list="targets" placeholder="all targets" value={target} onInput={(event) => set({ target: event.currentTarget.value })} />
          </label>
        )}
        <label>
          Reason
          <input required maxLength={256} value={draft.reason} onInput={(event) => set({ reason: event.currentTarget.value })} />
        </label>
        <div class="pair">
          <label>
            Ends after
            <select value={draft.ends} onChange={(event) => set({ ends: event.currentTarget.value })}>
              {ENDS.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          {!asksWho && (
            <label>
              Your name
              <input required autocomplete="name" maxLength={128} value={draft.actor} onInput={(event) => set({ actor: event.currentTarget.value })} />
            </label>
          )}
        </div>
        {!previewed && (
          <button type="submit" class="primary">
            Preview
          </button>
        )}
      </form>
      {previewed && (
        <Confirm request={previewed} busy={busy} onDo={() => void doIt(previewed)} onChange={() => setPreviewed(undefined)}>
          {verb} {draft.whom === "everything" ? "everything" : <Name mono>{draft.name}</Name>}
          {targets.length !== 1 && (target ? (
            <>
              {" "}
              on <Name>{target}</Name>
            </>
          ) : (
            " on all targets"
          ))}
        </Confirm>
      )}
      {error && <Trouble error={error} />}
    </Card>
  );
}

// It can be done once the answer is there, or nobody can have it.
function Confirm(props: { request: Create; busy: boolean; onDo: () => void; onChange: () => void; children: preact.ComponentChildren }) {
  const hits = useHits(props.request);
  const isKnown = hits.data !== undefined || hits.error !== undefined;
  const isPause = props.request.kind === "OVERRIDE_KIND_PAUSE";
  return (
    <div class="confirm" tabIndex={-1} ref={takeFocus} role="group" aria-label="Whom it would have hit">
      <div aria-live="polite">
        <Preview hits={hits} />
      </div>
      <div class="actions">
        <button type="button" class={isPause ? "danger" : "primary"} disabled={props.busy || !isKnown} onClick={props.onDo}>
          {props.children}
        </button>
        <button type="button" onClick={props.onChange}>
          Change it
        </button>
      </div>
    </div>
  );
}

export function EndOverride({ override, asksWho, onDone }: { override: Override; asksWho: boolean; onDone: () => void }) {
  const [reason, setReason] = useState("");
  const [actor, setActor] = useState("");
  const { busy, error, run } = useChange();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run((api) => end(api, override, reason.trim(), actor.trim()))) onDone();
  };
  return (
    <form class="form confirm" onSubmit={(event) => void submit(event)} aria-label={`End override ${override.id}`}>
      <p>
        End override {override.id}, made by <Name>{override.actor}</Name>?
      </p>
      <div class="pair">
        <label>
          Reason
          <input required ref={takeFocus} maxLength={256} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        {!asksWho && (
          <label>
            Your name
            <input required maxLength={128} value={actor} onInput={(event) => setActor(event.currentTarget.value)} />
          </label>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="primary" disabled={busy}>
          End it
        </button>
        <button type="button" onClick={onDone}>
          Leave it
        </button>
      </div>
      {error && <Trouble error={error} />}
    </form>
  );
}
