// The frame of the page: where one is, how old what is shown is, and who one is to the server.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ApiError } from "./api/client";
import { Session, SessionContext, useLive, useSession } from "./state/live";
import { RightsProvider } from "./state/rights";
import { ServerStatus } from "./state/server_status";
import { go, usePlace, writePlace, type View } from "./state/url";
import { nameOf, titleOf } from "./text/title";
import { Age } from "./ui/age";
import { Boundary } from "./ui/boundary";
import { Link } from "./ui/link";
import { Name } from "./ui/parts";
import { SignIn } from "./ui/sign_in";
import { ActProvider } from "./views/act/dialog";
import { Explain } from "./views/explain/explain";
import { Force } from "./views/force";
import { Now } from "./views/now";
import { WhatIf } from "./views/whatif";
import { Who } from "./views/who/who";

const VIEWS: readonly View[] = ["now", "who", "explain", "force", "whatif"];

export function App() {
  const session = useMemo(() => new Session(), []);
  return (
    <SessionContext.Provider value={session}>
      <Frame />
    </SessionContext.Provider>
  );
}

function Frame() {
  const place = usePlace();
  const session = useSession();
  const [unknown, setUnknown] = useState<ApiError>();
  session.onUnknownCaller = setUnknown;
  const [signedIn, setSignedIn] = useState(0);
  // For the names of targets and the server's own state; the views ask for what they show.
  const status = useLive("get_status", unknown ? undefined : {}, 10_000);
  const [targets, setTargets] = useState<readonly string[]>();
  useEffect(() => {
    if (status.data) setTargets((status.data.targets ?? []).map((target) => target.name ?? ""));
    else if (status.error?.isRefusal) setTargets([]);
    else if (unknown) setTargets(undefined);
  }, [status.data, status.error, unknown]);
  // Who may not see status is somebody.
  const knowsCallers = status.data ? status.data.access !== undefined : status.error?.isRefusal ? true : undefined;
  useSearchKey();
  useEffect(() => {
    document.title = titleOf(place);
  }, [place]);

  return (
    <>
      <a class="skip" href="#main">
        Skip to what is shown
      </a>
      <header class="top">
        <div class="brand">
          <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
            <rect width="32" height="32" rx="7" fill="var(--brand)" />
            <path d="M8 7v18M24 7v18M8 13h16M8 19h9" stroke="#fff" stroke-width="3" stroke-linecap="round" />
          </svg>
          <h1>Headgate</h1>
        </div>
        <nav class="views" aria-label="Views">
          {VIEWS.map((view) => (
            <Link key={view} to={{ view }} current={place.view === view}>
              {nameOf(view)}
            </Link>
          ))}
        </nav>
        {targets && (targets.length > 1 || (place.target !== "" && !targets.includes(place.target))) && <TargetPicker targets={targets} />}
        <Age />
        {session.api.hasToken && !unknown && (
          <button
            type="button"
            class="small"
            onClick={() => {
              session.api.setToken("");
              setSignedIn((times) => times + 1);
              session.rounds.askAgain();
            }}
          >
            Sign out
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {unknown ? (
          <SignIn
            error={unknown}
            had={session.api.hasToken}
            onToken={(token) => {
              session.api.setToken(token);
              setSignedIn((times) => times + 1);
              setUnknown(undefined);
              session.rounds.askAgain();
            }}
          />
        ) : (
          <Boundary at={writePlace(place)}>
            <ServerStatus.Provider value={status.data}>
              <RightsProvider knowsCallers={knowsCallers} caller={status.data?.caller} signedIn={signedIn}>
                <ActProvider isSingle={targets?.length === 1}>
                  <Warnings errors={status.data?.config?.errors} warnings={status.data?.warnings} />
                  {place.q && <StraySearch q={place.q} />}
                  {place.view === "now" && targets !== undefined && <Now targets={targets} />}
                  {place.view === "now" && targets === undefined && <p class="empty">{status.error ? status.error.message : "Loading…"}</p>}
                  {place.view === "who" && <Who />}
                  {place.view === "explain" && targets !== undefined && <Explain targets={targets} />}
                  {place.view === "force" && <Force targets={targets ?? []} />}
                  {place.view === "whatif" && <WhatIf />}
                </ActProvider>
              </RightsProvider>
            </ServerStatus.Provider>
          </Boundary>
        )}
      </main>
      <footer>
        {status.data?.version && <>headgated {status.data.version} · </>}times are UTC · all that is here is in the{" "}
        <a href="/openapi.json" target="_blank" rel="noopener">
          API
        </a>
      </footer>
      <datalist id="targets">
        {targets?.map((name) => <option key={name} value={name} />)}
      </datalist>
    </>
  );
}

function TargetPicker({ targets }: { targets: readonly string[] }) {
  const place = usePlace();
  return (
    <label class="picker">
      <span class="hidden">Target</span>
      <input
        key={place.target}
        list="targets"
        placeholder={`all ${targets.length} targets`}
        defaultValue={place.target}
        onChange={(event) => {
          const input = event.currentTarget;
          const name = input.value.trim();
          const isKnown = name === "" || targets.includes(name);
          input.setCustomValidity(isKnown ? "" : "There is no such target.");
          if (isKnown) go({ target: name, page: 0, q: "" });
          else input.reportValidity();
        }}
      />
      {place.target && (
        <button type="button" class="small" aria-label="All targets" onClick={() => go({ target: "", page: 0, q: "" })}>
          ✕
        </button>
      )}
    </label>
  );
}

// A search that is in the address is seen, also where nothing is searched; where there is a search, it is there.
function StraySearch({ q }: { q: string }) {
  return (
    <p class="stray">
      <button type="button" class="chip" onClick={() => go({ q: "" })}>
        search <Name>{q}</Name> ✕
      </button>
    </p>
  );
}

function Warnings({ errors, warnings }: { errors: readonly string[] | undefined; warnings: readonly string[] | undefined }) {
  if (!errors?.length && !warnings?.length) return null;
  return (
    <div class="notice" role="status">
      {errors?.map((error) => (
        <p key={error} class="trouble">
          The configuration file is refused: <Name>{error}</Name>
        </p>
      ))}
      {warnings?.map((warning) => (
        <p key={warning}>
          <Name>{warning}</Name>
        </p>
      ))}
    </div>
  );
}

// "/" goes to the search, as elsewhere.
function useSearchKey() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
      const search = document.querySelector<HTMLInputElement>("[data-search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
