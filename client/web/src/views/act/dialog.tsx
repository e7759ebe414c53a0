// The dialog in which somebody acts on what is seen in a list. The list goes on beneath it, and may lose the row.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { usePlace, writePlace } from "../../state/url";
import { Name, OnTarget } from "../../ui/parts";
import { ActContext, type Acting } from "./acting";
import type { Whom } from "./draft";
import { EndOrder } from "./end_order";
import { Order } from "./order";

export function ActProvider({ isSingle, children }: { isSingle: boolean; children: ComponentChildren }) {
  const [acting, setActing] = useState<Acting>();
  return (
    <ActContext.Provider value={setActing}>
      {children}
      {acting && <ActDialog acting={acting} isSingle={isSingle} onClose={() => setActing(undefined)} />}
    </ActContext.Provider>
  );
}

function ActDialog({ acting, isSingle, onClose }: { acting: Acting; isSingle: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const at = writePlace(usePlace());
  const opened = useRef(at);
  useEffect(() => dialog.current?.showModal(), []);
  // Who goes somewhere else is done here.
  useEffect(() => {
    if (at !== opened.current) dialog.current?.close();
  }, [at]);
  const close = () => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby="act-title" onClose={onClose}>
      <div class="card-head">
        <h2 id="act-title" tabIndex={-1}>
          {"end" in acting ? `End override ${acting.end.id}` : <WhomText whom={acting.whom} isSingle={isSingle} />}
        </h2>
        <button type="button" class="small" aria-label="Close" onClick={close}>
          ✕
        </button>
      </div>
      {"end" in acting ? <EndOrder override={acting.end} onClose={close} /> : <Order what={acting.what} whom={acting.whom} isSingle={isSingle} onClose={close} />}
    </dialog>
  );
}

// "nightly:etl on orders".
function WhomText({ whom, isSingle }: { whom: Whom; isSingle: boolean }) {
  return (
    <>
      {whom.identity ? <Name mono>{whom.identity}</Name> : "Everything"}
      <OnTarget target={whom.target} isOnly={isSingle} />
    </>
  );
}
