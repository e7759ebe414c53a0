// Making an override in two steps, first whom it would have hit, then doing it; and ending one. Either can be undone.
import { useState } from "preact/hooks";
import { ApiError, type RequestOf, type Schemas } from "../api/client";
import { useSession } from "../state/live";
import { Name, Card, Trouble } from "../ui/parts";
import { Preview } from "./preview";

type Override = Schemas["Override"];
type Create = RequestOf<"create_override">;

const DOES: readonly [NonNullable<Create["kind"]>, string, string][] = [
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

export interface Draft {
  kind: NonNullable<Create["kind"]>;
  whom: "identity" | "segment" | "everything";
  name: string;
  target: string;
  percent: number;
  actor: string;
  reason: string;
  ends: string;
}

export function requestOf(draft: Draft): Create {
  return {
    kind: draft.kind,
    selector: {
      ...(draft.whom === "everything" ? { everything: true } : { [draft.whom]: draft.name.trim() }),
      ...(draft.target && { target: draft.target }),
    },
    ...(draft.kind === "OVERRIDE_KIND_THROTTLE" && { ratio: draft.percent / 100 }),
    ...(draft.actor.trim() && { actor: draft.actor.trim() }),
    reason: draft.reason.trim(),
    ...(draft.ends === "never" ? { never_expires: true } : { expires_in: draft.ends }),
  } as Create;
}

// What makes the same override again, until the instant at which this one would have ended.
export function again(override: Override, actor: string): Create {
  return {
    kind: override.kind,
    selector: override.selector,
    ...(override.ratio && { ratio: override.ratio }),
    ...(actor && { actor }),
    reason: `undone: ${override.reason}`.slice(0, 250),
    ...(override.expires_at ? { expires_at: override.expires_at } : { never_expires: true }),
  } as Create;
}

interface Done {
  text: string;
  undo: () => Promise<void>;
}

// Runs what changes something: one at a time, with what went wrong, and then everything is asked again.
function useChange() {
  const session = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const run = async (change: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await change();
      session.rounds.askAgain();
    } catch (thrown) {
      const failure = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      if (failure.isUnknownCaller) session.onUnknownCaller(failure);
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run, api: session.api };
}

const EMPTY: Draft = {
  kind: "OVERRIDE_KIND_PAUSE",
  whom: "identity",
  name: "",
  target: "",
  percent: 50,
  actor: "",
  reason: "",
  ends: "3600s",
};

export function NewOverride({ targets, asksWho }: { targets: readonly string[]; asksWho: boolean }) {
  const [draft, setDraft] = useState(EMPTY);
  const [previewed, setPreviewed] = useState<Create>();
  const [done, setDone] = useState<Done>();
  const { busy, error, run, api } = useChange();
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change });
    setPreviewed(undefined);
  };
  const [, verb, effect] = DOES.find(([kind]) => kind === draft.kind)!;

  const make = (request: Create) =>
    run(async () => {
      const { override } = await api.call("create_override", request);
      setPreviewed(undefined);
      setDraft({ ...EMPTY, actor: draft.actor });
      setDone({
        text: `Override ${override?.id} is in force.`,
        undo: async () => {
          await api.call("delete_override", { id: override?.id ?? "", reason: "undone", ...(request.actor && { actor: request.actor }) });
          setDone({ text: `Override ${override?.id} is undone.`, undo: () => make(again(override!, draft.actor)) });
        },
      });
    });

  return (
    <Card title="Step in" id="step-in">
      {done && (
        <p class="done" role="status">
          {done.text}{" "}
          <button type="button" class="small" disabled={busy} onClick={() => run(done.undo)}>
            Undo
          </button>
        </p>
      )}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          setDone(undefined);
          setPreviewed(requestOf(draft));
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
        {targets.length > 1 && (
          <label>
            Target
            <input list="targets" placeholder="all targets" value={draft.target} onInput={(event) => set({ target: event.currentTarget.value })} />
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
        <div class="confirm">
          <Preview request={previewed} />
          <div class="actions">
            <button type="button" class={draft.kind === "OVERRIDE_KIND_PAUSE" ? "danger" : "primary"} disabled={busy} onClick={() => make(previewed)}>
              {verb} {draft.whom === "everything" ? "everything" : <Name mono>{draft.name}</Name>}
            </button>
            <button type="button" onClick={() => setPreviewed(undefined)}>
              Change it
            </button>
          </div>
        </div>
      )}
      {error && <Trouble error={error} />}
    </Card>
  );
}

export function EndOverride({ override, asksWho, onDone }: { override: Override; asksWho: boolean; onDone: () => void }) {
  const [reason, setReason] = useState("");
  const [actor, setActor] = useState("");
  const { busy, error, run, api } = useChange();
  const end = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await api.call("delete_override", { id: override.id ?? "", reason: reason.trim(), ...(actor.trim() && { actor: actor.trim() }) });
      onDone();
    });
  };
  return (
    <form class="form confirm" onSubmit={end} aria-label={`End override ${override.id}`}>
      <p>
        End override {override.id}, made by <Name>{override.actor}</Name>
        {override.reason && (
          <>
            {" "}
            because <Name>{override.reason}</Name>
          </>
        )}
        ?
      </p>
      <div class="pair">
        <label>
          Reason
          <input required autofocus maxLength={256} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
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

