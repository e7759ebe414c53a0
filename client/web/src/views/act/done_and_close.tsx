// What a dialog shows once its change is made: what was done, the way back, and the way out.
import { Trouble } from "../../ui/parts";
import { WhatWasDone, type Change } from "./changes";

export function DoneAndClose({ change, onClose }: { change: Change; onClose: () => void }) {
  const { busy, error, done, run } = change;
  return (
    <>
      {done && <WhatWasDone done={done} busy={busy} run={run} />}
      {error && <Trouble error={error} doing />}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}
