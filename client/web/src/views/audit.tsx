// Who did what to overrides, and when.
import { useState } from "preact/hooks";
import { useLive, useNow } from "../state/live";
import { time, word } from "../text/format";
import { Badge, Card, Empty, Loaded, Name } from "../ui/parts";
import { WhatItDoes, WhomOf } from "./act/override";

export function Audit() {
  // The token of each page up to the one that is shown.
  const [pages, setPages] = useState<readonly string[]>([""]);
  const live = useLive("list_override_events", { page_size: 20, page_token: pages.at(-1)! }, pages.length > 1 ? 10_000 : 1000);
  const now = useNow(10_000);
  return (
    <Card title="Who did what" id="audit">
      <Loaded live={live}>
        {(data) =>
          data.events?.length ? (
            <>
              <ul class="rows">
                {data.events.map((event) => (
                  <li class="row" key={event.id}>
                    <div class="row-head">
                      <span class="muted">{time(event.happened_at, now)}</span>
                      <Badge tone={event.kind === "OVERRIDE_EVENT_KIND_CREATED" ? "warn" : "quiet"}>{word(event.kind, "OVERRIDE_EVENT_KIND_")}</Badge>
                      {event.override && (
                        <>
                          <WhatItDoes override={event.override} />
                          <WhomOf selector={event.override.selector} />
                        </>
                      )}
                      {event.override && <span class="muted end">override {event.override.id}</span>}
                    </div>
                    {event.change && (
                      <p>
                        <Name>{event.change}</Name>
                      </p>
                    )}
                    {event.actor && (
                      <p>
                        <Name>{event.actor}</Name>: <Name>{event.reason}</Name>
                      </p>
                    )}
                  </li>
                ))}
              </ul>
              {(pages.length > 1 || data.next_page_token) && (
                <nav class="pages" aria-label="Pages of this list">
                  <button type="button" disabled={pages.length === 1} onClick={() => setPages(pages.slice(0, -1))}>
                    Newer
                  </button>
                  <button type="button" disabled={!data.next_page_token} onClick={() => setPages([...pages, data.next_page_token!])}>
                    Older
                  </button>
                </nav>
              )}
            </>
          ) : (
            <Empty>Nobody has made an override yet. Whatever is made, ended or forgiven would be listed here, with who did it and why.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}
