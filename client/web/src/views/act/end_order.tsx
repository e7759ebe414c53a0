// Ending an override that is in force, with a reason.
import { useState } from "preact/hooks";
import { useKept } from "../../state/kept";
import { useNow } from "../../state/live";
import { useRights } from "../../state/rights";
import { time } from "../../text/format";
import { Name, Trouble } from "../../ui/parts";
import { end, useChange } from "./changes";
import { DoneAndClose } from "./done_and_close";
import type { Override } from "./draft";
import { Actor, Reason } from "./fields";
import { WhatItDoes, WhomOf } from "./override";

export function EndOrder({ override, onClose }: { override: Override; onClose: () => void }) {
  const rights = useRights();
  const now = useNow(10_000);
  const [reason, setReason] = useState("");
  const [actor, setActor] = useKept("actor", "");
  const [isDone, setDone] = useState(false);
  const change = useChange();
  const { busy, error, run } = change;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run((api) => end(api, override, reason.trim(), actor.trim()))) setDone(true);
  };
  if (isDone) return <DoneAndClose change={change} onClose={onClose} />;
  return (
    <form class="form" onSubmit={(event) => void submit(event)} aria-label={`End override ${override.id}`}>
      <p>
        <WhatItDoes override={override} /> <WhomOf selector={override.selector} />
      </p>
      <p class="muted">
        by <Name>{override.actor}</Name>, {override.expires_at ? `until ${time(override.expires_at, now)} UTC` : "without an end"}: <Name>{override.reason}</Name>
      </p>
      <div class="pair">
        <Reason reason={reason} onInput={setReason} autofocus />
        <Actor rights={rights} actor={actor} onInput={setActor} />
      </div>
      <div class="actions">
        <button type="submit" class="primary" disabled={busy}>
          End it
        </button>
        <button type="button" onClick={onClose}>
          Leave it
        </button>
      </div>
      {error && <Trouble error={error} doing />}
    </form>
  );
}

