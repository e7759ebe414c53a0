// What was just changed, and the way back.
import { useState } from "preact/hooks";
import { ApiError, type Api, type RequestOf } from "../../api/client";
import { useKept } from "../../state/kept";
import { useNow, useSession } from "../../state/live";
import { useRights } from "../../state/rights";
import { number } from "../../text/format";
import { Name } from "../../ui/parts";
import { again, type Create, type Override } from "./draft";

export interface Done {
  key: string;
  text: string; // "Override 7 is in force"
  notes?: readonly string[];
  // Does the opposite, until its instant: what has ended by itself cannot be ended, nor made again.
  undo?: (api: Api) => Promise<Done>;
  undoes?: string; // what Undo does
  untilMs?: number;
}

const endOf = (override: Override) => (override.expires_at ? { untilMs: Date.parse(override.expires_at) } : {});

export async function make(api: Api, request: Create): Promise<Done> {
  const { override, exempt_rules, exempt_rule_count, servers_not_reached } = await api.call("create_override", request);
  const more = Number(exempt_rule_count ?? 0) - (exempt_rules?.length ?? 0);
  return {
    key: `${override?.id} made`,
    text: `Override ${override?.id} is in force`,
    notes: [
      ...(exempt_rules?.length
        ? [`It does not stop whom these rules exempt: ${exempt_rules.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`]
        : []),
      ...notReached(servers_not_reached),
    ],
    undo: (api) => end(api, override!, "undone", request.actor ?? ""),
    undoes: "Undo ends it at once.",
    ...endOf(override!),
  };
}

export async function end(api: Api, override: Override, reason: string, actor: string): Promise<Done> {
  const { servers_not_reached } = await api.call("delete_override", { id: override.id ?? "", reason, ...(actor && { actor }) });
  return {
    key: `${override.id} ended`,
    text: `Override ${override.id} has ended`,
    notes: notReached(servers_not_reached),
    undo: (api) => make(api, again(override, actor)),
    undoes: "Undo makes it again, until the same end.",
    ...endOf(override),
  };
}

export async function forgive(api: Api, request: RequestOf<"forgive_debt">): Promise<Done> {
  const { bucket, forgiven, unit } = await api.call("forgive_debt", request);
  const owed = `${number(forgiven)}${unit === "BUDGET_UNIT_BUSY_TIME" ? " busy s" : ""}`;
  return {
    key: `${request.budget} ${bucket} forgiven`,
    text: `Forgiven: ${owed} that ${bucket || request.identity} owed to ${request.budget}`,
    notes: ["A debt that is forgiven cannot be brought back. It is under Who did what."],
  };
}

const notReached = (servers: readonly string[] | undefined) =>
  servers?.length ? [`These servers have not said yet that they know: ${servers.join(", ")}.`] : [];

// Runs what changes something: one at a time, with what went wrong, and then everything is asked again. What was done
// last is kept, whichever view one looks at in between.
export function useChange() {
  const session = useSession();
  const rights = useRights();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const [done, setDone] = useKept<Done | undefined>("done", undefined);
  const run = async (change: (api: Api) => Promise<Done>): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    try {
      setDone(await change(session.api));
      session.rounds.askAgain();
      return true;
    } catch (thrown) {
      const failure = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      if (failure.isUnknownCaller) session.onUnknownCaller(failure);
      rights.learn(failure);
      setError(failure);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, done, run };
}

export type Change = ReturnType<typeof useChange>;

// The focus goes there once it is on the page, so that it is read aloud and the keyboard goes on from there.
export const takeFocus = (element: HTMLElement | null) => element?.focus();

export function WhatWasDone({ done, busy, run }: { done: Done; busy: boolean; run: (undo: NonNullable<Done["undo"]>) => void }) {
  const isOver = useNow() > (done.untilMs ?? Infinity);
  const { undo } = done;
  return (
    <div class="done" role="status" tabIndex={-1} ref={takeFocus} key={done.key}>
      <Name>{isOver ? `${done.text.replace(/ (is in force|has ended)$/, "")} has reached its end` : done.text}</Name>.{" "}
      {!isOver && undo && (
        <>
          {done.undoes}{" "}
          <button type="button" class="small" disabled={busy} onClick={() => run(undo)}>
            Undo
          </button>
        </>
      )}
      {done.notes?.map((note) => (
        <p key={note}>
          <Name>{note}</Name>
        </p>
      ))}
    </div>
  );
}
