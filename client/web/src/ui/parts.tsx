// The small parts that all views are made of.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import type { Live } from "../state/live";
import { visible } from "../text/format";
import { HELP } from "../text/help";
import { useHelp } from "./help";

export type Tone = "good" | "warn" | "bad" | "quiet";

// Whatever others have named or written. It is text and nothing else, all of it is seen, it is broken where it is
// long, and its direction is its own.
export function Name({ children, mono }: { children: string | undefined; mono?: boolean }) {
  return <bdi class={mono ? "name mono" : "name"}>{children ? visible(children) : "–"}</bdi>;
}

// " on orders": nothing where there is only one, and without a name all of them.
export function OnTarget({ target, isOnly }: { target: string; isOnly?: boolean }) {
  if (!target) return <>{!isOnly && " on all targets"}</>;
  return (
    <>
      {" "}
      on <Name>{target}</Name>
    </>
  );
}

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Card(props: {
  title: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
  id?: string;
  element?: (element: Element | null) => void;
}) {
  // Of several of a kind each has a number: "health-0".
  const help = useHelp(HELP[props.id?.replace(/-\d+$/, "") ?? ""]);
  return (
    <section class={props.wide ? "card wide" : "card"} aria-labelledby={props.id} ref={props.element}>
      <header class="card-head">
        <div class="title">
          <h2 id={props.id}>{props.title}</h2>
          {help.button}
        </div>
        {props.aside && <div class="aside">{props.aside}</div>}
      </header>
      {help.text}
      {props.children}
    </section>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

// What may not be seen, or went wrong, and why.
export function Trouble({ error, doing }: { error: ApiError; doing?: boolean }) {
  if (error.isRefusal) {
    return (
      <p class="refusal">
        {error.caller ? (
          <>
            <Name>{error.caller}</Name> may not {doing ? "do" : "see"} this
            {error.missing && (
              <>
                : <code>{error.missing}</code> is not granted
              </>
            )}
            .
          </>
        ) : (
          error.message
        )}
      </p>
    );
  }
  return (
    <p class="trouble" role="alert">
      <Name>{error.message}</Name>
    </p>
  );
}

// What is asked for, once it is there; until then why it is not.
export function Loaded<T>({ live, isAsked = true, children }: { live: Live<T>; isAsked?: boolean; children: (data: T) => ComponentChildren }) {
  if (live.data !== undefined) return <>{children(live.data)}</>;
  if (live.error) return <Trouble error={live.error} />;
  return <p class="empty">{isAsked ? "Loading…" : "Asked for once it is on the screen."}</p>;
}

// How much of something is used: 0 to 1, with marks where it matters. What is unknown or infinite has no bar: an empty
// or a full one would say something else.
export function Meter(props: { value: number; tone: Tone; label: string; marks?: readonly number[] }) {
  if (!Number.isFinite(props.value)) return null;
  const share = Math.min(Math.max(props.value, 0), 1);
  return (
    <div
      class={`meter ${props.tone}`}
      role="meter"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <div class="fill" style={{ width: `${share * 100}%` }} />
      {props.marks?.map((mark) => <div key={mark} class="mark" style={{ left: `${mark * 100}%` }} />)}
    </div>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
