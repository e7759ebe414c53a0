// What can be done about somebody, beside where they are seen: only what this reader may do.
import { useRights } from "../../state/rights";
import { Link } from "../../ui/link";
import { useAct } from "./acting";
import { grantFor, type What, type Whom } from "./draft";

const ALL: readonly [What, string][] = [
  ["OVERRIDE_KIND_PAUSE", "Pause"],
  ["OVERRIDE_KIND_THROTTLE", "Throttle"],
  ["OVERRIDE_KIND_EXEMPT", "Exempt"],
  ["forgive", "Forgive"],
];

// `short`: one button for all of them, where there are many rows. `explain`: what is known of the Check in question.
export function Actions({ whom, short, explain }: { whom: Whom; short?: boolean; explain?: { cost?: string; pattern?: string; tags?: string } | false }) {
  const rights = useRights();
  const act = useAct();
  const allowed = ALL.filter(([what]) => rights.may(what === "forgive" ? "forgive" : grantFor(what, false)));
  const shown: readonly [What, string][] = short ? allowed.slice(0, 1).map(([what]) => [what, "Act"]) : allowed;
  return (
    <span class="acts">
      {explain !== false && (
        <Link to={{ view: "explain", identity: whom.identity, segment: "", target: whom.target, ...explain }} class="act-link" label={`Explain ${whom.identity}`}>
          Explain
        </Link>
      )}
      {shown.map(([what, name]) => (
        <button key={what} type="button" class="small" aria-label={`${name} ${whom.identity}`} onClick={() => act({ what, whom })}>
          {name}
        </button>
      ))}
    </span>
  );
}

// Stops all that is asked of one target, or of all.
export function StopEverything({ target, of }: { target: string; of: string }) {
  const rights = useRights();
  const act = useAct();
  if (!rights.may("everything")) return null;
  return (
    <button type="button" class="small" onClick={() => act({ what: "OVERRIDE_KIND_PAUSE", whom: { identity: "", target } })}>
      Stop everything{of}
    </button>
  );
}
