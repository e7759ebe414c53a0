// The fields that orders have in common.
import type { Rights } from "../../state/rights";
import { grantFor, kindOf, KINDS, type Draft, type Kind } from "./draft";

const ENDS: readonly [string, string][] = [
  ["600s", "10 minutes"],
  ["3600s", "1 hour"],
  ["14400s", "4 hours"],
  ["86400s", "1 day"],
  ["604800s", "1 week"],
  ["never", "never"],
];

// What this reader may do to identities, or to everything.
export const kindsFor = (rights: Rights, isEverything: boolean): readonly Kind[] =>
  KINDS.map(({ kind }) => kind).filter((kind) => !(isEverything && kind === "OVERRIDE_KIND_EXEMPT") && rights.may(grantFor(kind, isEverything)));


export function Choice(props: { choices: readonly (readonly [string, string])[]; chosen: string; onChoose: (value: string) => void }) {
  return (
    <fieldset class="choice">
      <legend>What</legend>
      {props.choices.map(([value, name]) => (
        <label key={value}>
          <input type="radio" name="kind" checked={props.chosen === value} onChange={() => props.onChoose(value)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

export function Share({ draft, set }: { draft: Draft; set: (change: Partial<Draft>) => void }) {
  return (
    <>
      <p class="muted">{kindOf(draft.kind).effect}</p>
      {draft.kind === "OVERRIDE_KIND_THROTTLE" && (
        <label>
          Share that is denied, %
          <input type="number" min={0.1} max={100} step={0.1} required value={draft.percent} onInput={(event) => set({ percent: event.currentTarget.valueAsNumber })} />
        </label>
      )}
    </>
  );
}

export function Reason({ reason, onInput, autofocus }: { reason: string; onInput: (reason: string) => void; autofocus?: boolean }) {
  return (
    <label>
      Reason
      <input required maxLength={256} value={reason} autofocus={autofocus ?? false} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

export function Ends({ draft, set }: { draft: Draft; set: (change: Partial<Draft>) => void }) {
  return (
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
  );
}

// Where the server knows its callers it knows this one, too.
export function Actor({ rights, actor, onInput }: { rights: Rights; actor: string; onInput: (actor: string) => void }) {
  if (rights.knowsCallers) return null;
  return (
    <label>
      Your name
      <input required autocomplete="name" maxLength={128} value={actor} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

