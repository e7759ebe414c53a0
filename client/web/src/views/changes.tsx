// What was just changed, and the way back.
import { useState } from "preact/hooks";
import { ApiError, type Api } from "../api/client";
import { useKept } from "../state/kept";
import { useNow, useSession } from "../state/live";
import { Name } from "../ui/parts";
import { again, type Create, type Override } from "./draft";

export interface Done {
  id: string; // of the override
  became: string; // "is in force"
  notes?: readonly string[];
  // Does the opposite, until its instant: what has ended by itself cannot be ended, nor made again.
  undo: (api: Api) => Promise<Done>;
  untilMs?: number;
}

const endOf = (override: Override) => (override.expires_at ? { untilMs: Date.parse(override.expires_at) } : {});

export async function make(api: Api, request: Create): Promise<Done> {
  const { override, exempt_rules, exempt_rule_count, servers_not_reached } = await api.call("create_override", request);
  const more = Number(exempt_rule_count ?? 0) - (exempt_rules?.length ?? 0);
  return {
    id: override?.id ?? "",
    became: "is in force",
    notes: [
      ...(exempt_rules?.length
        ? [`It does not stop whom these rules exempt: ${exempt_rules.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`]
        : []),
      ...notReached(servers_not_reached),
    ],
    undo: (api) => end(api, override!, "undone", request.actor ?? ""),
    ...endOf(override!),
  };
}

export async function end(api: Api, override: Override, reason: string, actor: string): Promise<Done> {
  const { servers_not_reached } = await api.call("delete_override", { id: override.id ?? "", reason, ...(actor && { actor }) });
  return {
    id: override.id ?? "",
    became: "has ended",
    notes: notReached(servers_not_reached),
    undo: (api) => make(api, again(override, actor)),
    ...endOf(override),
  };
}

const notReached = (servers: readonly string[] | undefined) =>
  servers?.length ? [`These servers have not said yet that they know: ${servers.join(", ")}.`] : [];

// Runs what changes something: one at a time, with what went wrong, and then everything is asked again. What was done
// last is kept, whichever view one looks at in between.
export function useChange() {
  const session = useSession();
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
      setError(failure);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, done, run };
}

// The focus goes there once it is on the page, so that it is read aloud and the keyboard goes on from there.
export const takeFocus = (element: HTMLElement | null) => element?.focus();

export function WhatWasDone({ done, busy, run }: { done: Done; busy: boolean; run: (undo: Done["undo"]) => void }) {
  const isOver = useNow() > (done.untilMs ?? Infinity);
  return (
    <div class="done" role="status" tabIndex={-1} ref={takeFocus} key={`${done.id} ${done.became}`}>
      Override {done.id} {isOver ? "has reached its end" : done.became}.{" "}
      {!isOver && (
        <button type="button" class="small" disabled={busy} onClick={() => run(done.undo)}>
          Undo
        </button>
      )}
      {done.notes?.map((note) => (
        <p key={note}>
          <Name>{note}</Name>
        </p>
      ))}
    </div>
  );
}
