// What is in force: overrides, the rules of the configuration, what applies to one job, and who did what.
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { useLive, useNow, useSession } from "../state/live";
import { span, time } from "../text/format";
import { Paged } from "../ui/paged";
import { Card, Empty, Loaded, Name, Trouble } from "../ui/parts";
import { Audit } from "./audit";
import { Applies } from "./applies";
import { type Override, WhatItDoes, Whom } from "./override";
import { EndOverride, NewOverride } from "./override_forms";
import { Rules } from "./rules";

// Whether the page may change anything at all, as the server says it; nothing until it has.
function useMayChange(): { known: boolean; refusal?: ApiError } {
  const { api } = useSession();
  const [answer, setAnswer] = useState<{ known: boolean; refusal?: ApiError }>({ known: false });
  useEffect(() => {
    let gone = false;
    api.refusalOf("create_override").then(
      (refusal) => gone || setAnswer({ known: true, ...(refusal && { refusal }) }),
      () => {},
    );
    return () => {
      gone = true;
    };
  }, [api]);
  return answer;
}

export function Force({ targets }: { targets: readonly string[] }) {
  const status = useLive("get_status", {}, 5000);
  const may = useMayChange();
  // Who may not see status is somebody.
  const asksWho = status.data?.access !== undefined || status.error?.isRefusal === true;
  const isKnown = status.data !== undefined || asksWho;
  const canChange = isKnown && may.known && !may.refusal;
  return (
    <>
      {may.refusal && (
        <div class="notice" role="status">
          <Trouble error={may.refusal} />
        </div>
      )}
      <div class="cards">
        <InForce asksWho={asksWho} canChange={canChange} />
        <div class="column">
          {canChange && <NewOverride targets={targets} asksWho={asksWho} />}
          <Rules />
          {!canChange && <Audit />}
        </div>
        <div class="column">
          <Applies targets={targets} />
          {canChange && <Audit />}
        </div>
      </div>
    </>
  );
}

function InForce({ asksWho, canChange }: { asksWho: boolean; canChange: boolean }) {
  const live = useLive("list_overrides", { page_size: 1000 });
  const now = useNow();
  const [ending, setEnding] = useState<string>();
  const one = (override: Override) => (
    <li class="row" key={override.id}>
      <div class="row-head">
        <WhatItDoes override={override} />
        <Whom selector={override.selector} />
        <span class="muted end">
          {override.expires_at ? (
            <span title={`${time(override.expires_at, now)} UTC`}>ends in {span(Math.max(0, Math.round((Date.parse(override.expires_at) - now) / 1000)))}</span>
          ) : (
            "never ends"
          )}
        </span>
        {canChange && (
          <button type="button" class="small" onClick={() => setEnding(override.id)} aria-label={`End override ${override.id}`}>
            End
          </button>
        )}
      </div>
      <p>
        <Name>{override.reason}</Name>
      </p>
      <p class="muted">
        by <Name>{override.actor}</Name>, {time(override.created_at, now)} UTC · override {override.id}
      </p>
      {ending === override.id && <EndOverride override={override} asksWho={asksWho} onDone={() => setEnding(undefined)} />}
    </li>
  );
  return (
    <Card title="Overrides in force" id="overrides" wide>
      <Loaded live={live}>
        {(data) =>
          data.overrides?.length ? (
            <Paged
              name="overrides"
              rows={data.overrides}
              isCut={Boolean(data.next_page_token)}
              text={({ id, selector, actor, reason }) => [id, selector?.identity, selector?.segment, selector?.target, actor, reason].join(" ")}
              row={one}
            />
          ) : (
            <Empty>No override is in force.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}
