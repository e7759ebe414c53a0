// The rules of the configuration, in its order.
import { useState } from "preact/hooks";
import { useLive, useNow } from "../state/live";
import { usePlace } from "../state/url";
import { time } from "../text/format";
import { Card, Empty, Loaded, Name } from "../ui/parts";

export function Rules() {
  const { target } = usePlace();
  // The token of each page up to the one that is shown.
  const [pages, setPages] = useState<readonly string[]>([""]);
  const live = useLive("list_rules", { ...(target && { target }), page_size: 20, page_token: pages.at(-1)! }, 5000);
  const now = useNow(10_000);
  return (
    <Card title="Rules of the configuration" id="rules">
      <Loaded live={live}>
        {(data) =>
          data.rules?.length ? (
            <>
              <ul class="rows">
                {data.rules.map((rule) => (
                  <li class="row" key={rule.name}>
                    <div class="row-head">
                      <Name>{rule.name}</Name>
                      {rule.expires_at && (
                        <span class="muted end">
                          {Date.parse(rule.expires_at) > now ? "until" : "is over since"} {time(rule.expires_at, now)} UTC
                        </span>
                      )}
                    </div>
                    <p>
                      <Name>{rule.action}</Name>
                    </p>
                    <p class="muted">
                      <Name>{rule.match || "all Checks"}</Name>
                    </p>
                  </li>
                ))}
              </ul>
              {(pages.length > 1 || data.next_page_token) && (
                <nav class="pages" aria-label="Pages of rules">
                  <button type="button" disabled={pages.length === 1} onClick={() => setPages(pages.slice(0, -1))}>
                    Back
                  </button>
                  <button type="button" disabled={!data.next_page_token} onClick={() => setPages([...pages, data.next_page_token!])}>
                    Next
                  </button>
                </nav>
              )}
            </>
          ) : (
            <Empty>No rules are configured: nothing is limited. Each rule would be listed here, with whom it is for and what it does.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}
