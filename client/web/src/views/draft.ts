// An override before it is made: what its form holds, and the request that follows from it.
import type { RequestOf, Schemas } from "../api/client";

export type Override = Schemas["Override"];
export type Create = RequestOf<"create_override">;

export interface Draft {
  kind: NonNullable<Create["kind"]>;
  whom: "identity" | "segment" | "everything";
  name: string;
  target: string | undefined; // nothing was typed: the one that is looked at
  percent: number;
  actor: string;
  reason: string;
  ends: string;
}

export const EMPTY: Draft = {
  kind: "OVERRIDE_KIND_PAUSE",
  whom: "identity",
  name: "",
  target: undefined,
  percent: 50,
  actor: "",
  reason: "",
  ends: "3600s",
};

// Not everything can be exempted.
export function changed(draft: Draft, change: Partial<Draft>): Draft {
  const next = { ...draft, ...change };
  return next.kind === "OVERRIDE_KIND_EXEMPT" && next.whom === "everything" ? { ...next, whom: "identity" } : next;
}

export function requestOf(draft: Draft, lookedAt: string): Create {
  const target = (draft.target ?? lookedAt).trim();
  return {
    kind: draft.kind,
    selector: {
      ...(draft.whom === "everything" ? { everything: true } : { [draft.whom]: draft.name.trim() }),
      ...(target && { target }),
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
