// The overrides that are in force, in rows: by whom, why, until when, and a button that ends each.
import { useNow } from "../../state/live";
import { useRights } from "../../state/rights";
import { span, time } from "../../text/format";
import { Name } from "../../ui/parts";
import { useAct } from "./acting";
import { grantFor, type Override } from "./draft";
import { WhatItDoes, WhomOf } from "./override";

// "until 03:55:12 UTC, in 58 min".
export function untilText(override: Override, now: number): string {
  if (!override.expires_at) return "without an end";
  const left = Math.max(0, Math.round((Date.parse(override.expires_at) - now) / 1000));
  return `until ${time(override.expires_at, now)} UTC, in ${span(left)}`;
}

// "End", or "Undo": the same, in a banner that says what was done, and in a list of orders.
export function EndButton({ override, name }: { override: Override; name: "End" | "Undo" }) {
  const rights = useRights();
  const act = useAct();
  if (!rights.may(grantFor(override.kind, Boolean(override.selector?.everything)))) return null;
  return (
    <button type="button" class="small" onClick={() => act({ end: override })} aria-label={`${name} override ${override.id}`}>
      {name}
    </button>
  );
}

export function OrderRow({ override }: { override: Override }) {
  const now = useNow();
  return (
    <li class="row">
      <div class="row-head">
        <WhatItDoes override={override} />
        <WhomOf selector={override.selector} />
        <span class="muted end">{untilText(override, now)}</span>
        <EndButton override={override} name="Undo" />
      </div>
      <p>
        <Name>{override.reason}</Name>
      </p>
      <p class="muted">
        by <Name>{override.actor}</Name>, {time(override.created_at, now)} UTC · override {override.id}
      </p>
    </li>
  );
}
