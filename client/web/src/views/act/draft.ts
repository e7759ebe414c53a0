// An order before it is given: what its form holds, and the request that follows from it.
import type { RequestOf, Schemas } from "../../api/client";
import type { Grant } from "../../state/rights";
import type { Place } from "../../state/url";

export type Override = Schemas["Override"];
export type Create = RequestOf<"create_override">;
export type Kind = NonNullable<Create["kind"]>;

export interface Draft {
  kind: Kind;
  whom: "identity" | "segment" | "everything";
  name: string;
  target: string; // empty: all of them
  percent: number;
  reason: string;
  ends: string;
  lookedAt: string; // when whom and where were typed
}

// Whom a row is about, and on which target; empty: on all of them. What is known of the bucket in question, where it is.
export interface Whom {
  identity: string; // empty: everything
  target: string;
  budget?: string | undefined;
  bucket?: string | undefined;
}
export type What = Kind | "forgive";

export interface KindOf {
  kind: Kind;
  verb: string;
  effect: string;
}
export const KINDS: readonly KindOf[] = [
  { kind: "OVERRIDE_KIND_PAUSE", verb: "Pause", effect: "Every Check is denied, or waits for the end." },
  { kind: "OVERRIDE_KIND_THROTTLE", verb: "Throttle", effect: "A share of Checks is denied." },
  { kind: "OVERRIDE_KIND_EXEMPT", verb: "Exempt", effect: "Every Check passes, held back by nothing." },
  { kind: "OVERRIDE_KIND_RESUME", verb: "Resume", effect: "Lifts what pauses or throttles it; budgets and health still count." },
];
export const kindOf = (kind: Kind) => KINDS.find((one) => one.kind === kind)!;

// What it takes to give the order, and as much to end it.
export function grantFor(kind: Kind | undefined, isEverything: boolean): Grant {
  if (isEverything) return "everything";
  return kind === "OVERRIDE_KIND_EXEMPT" ? "exempt_overrides" : "overrides";
}

export const EMPTY: Draft = {
  kind: "OVERRIDE_KIND_PAUSE",
  whom: "identity",
  name: "",
  target: "",
  percent: 50,
  reason: "",
  ends: "3600s",
  lookedAt: "",
};

// Who looks at something else means that: what was typed of another target or job is not acted on any more.
export function draftAt(draft: Draft, place: Pick<Place, "identity" | "target">): Draft {
  const lookedAt = `${place.target}\n${place.identity}`;
  if (draft.lookedAt === lookedAt) return draft;
  return { ...draft, lookedAt, whom: "identity", name: place.identity, target: place.target };
}

// Not everything can be exempted.
export function changed(draft: Draft, change: Partial<Draft>): Draft {
  const next = { ...draft, ...change };
  return next.kind === "OVERRIDE_KIND_EXEMPT" && next.whom === "everything" ? { ...next, whom: "identity" } : next;
}

export function requestOf(draft: Draft, actor: string): Create {
  const target = draft.target.trim();
  return {
    kind: draft.kind,
    selector: {
      ...(draft.whom === "everything" ? { everything: true } : { [draft.whom]: draft.name.trim() }),
      ...(target && { target }),
    },
    ...(draft.kind === "OVERRIDE_KIND_THROTTLE" && { ratio: draft.percent / 100 }),
    ...(actor.trim() && { actor: actor.trim() }),
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

// Whether an override is about this target: one of all targets is.
export const isOn = ({ selector }: Override, target: string) => !target || !selector?.target || selector.target === target;

// Whether what one override is about has all that the other would be about.
function covers(made: Override["selector"], asked: Create["selector"]): boolean {
  if (made?.target && made.target !== asked?.target) return false;
  if (made?.everything) return true;
  const { identity = "", segment = "" } = asked ?? {};
  if (made?.segment) return made.segment === segment || identity.split(":").includes(made.segment);
  return Boolean(made?.identity) && (identity === made!.identity || identity.endsWith(`:${made!.identity}`));
}

// The order in force that does already what is asked for. Throttling anew changes by how much, and a pause that a resume
// lifts is none; one of everything is lifted by a later resume only.
export function inForce(overrides: readonly Override[], { kind, selector }: Create): Override | undefined {
  if (kind === "OVERRIDE_KIND_THROTTLE") return undefined;
  const over = overrides.filter((made) => covers(made.selector, selector));
  const resumes = over.filter((made) => made.kind === "OVERRIDE_KIND_RESUME");
  const isLifted = ({ selector: of, created_at: at }: Override) => resumes.some((resume) => !of?.everything || Date.parse(resume.created_at ?? "") > Date.parse(at ?? ""));
  return over.find((made) => made.kind === kind && !(kind === "OVERRIDE_KIND_PAUSE" && isLifted(made)));
}
