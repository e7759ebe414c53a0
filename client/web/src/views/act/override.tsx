// One override in a row of a list: what it does, and to whom.
import type { Schemas } from "../../api/client";
import { percent } from "../../text/format";
import { numberOf } from "../../text/health";
import { Link } from "../../ui/link";
import { Badge, Name, type Tone } from "../../ui/parts";

export type Override = Schemas["Override"];

const KINDS: Record<string, [string, Tone]> = {
  OVERRIDE_KIND_PAUSE: ["paused", "bad"],
  OVERRIDE_KIND_THROTTLE: ["throttled", "warn"],
  OVERRIDE_KIND_EXEMPT: ["exempt", "good"],
  OVERRIDE_KIND_RESUME: ["resumed", "good"],
};

export function WhatItDoes({ override }: { override: Override }) {
  const [text, tone] = KINDS[override.kind ?? ""] ?? ["unknown", "quiet"];
  return (
    <Badge tone={tone}>
      {text}
      {override.ratio ? ` ${percent(numberOf(override.ratio))}` : ""}
    </Badge>
  );
}

export function WhomOf({ selector }: { selector: Override["selector"] }) {
  return (
    <>
      {selector?.everything ? (
        <strong>everything</strong>
      ) : selector?.segment ? (
        <Link to={{ view: "who", identity: "", segment: selector.segment, ...(selector.target && { target: selector.target }) }}>
          segment <Name mono>{selector.segment}</Name>
        </Link>
      ) : (
        <Link to={{ view: "who", identity: selector?.identity ?? "", segment: "", ...(selector?.target && { target: selector.target }) }}>
          <Name mono>{selector?.identity}</Name>
        </Link>
      )}
      {selector?.target && (
        <span class="muted">
          {" "}
          on <Name>{selector.target}</Name>
        </span>
      )}
    </>
  );
}
