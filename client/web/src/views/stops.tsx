// Overrides of everything, which nobody should have to look for.
import type { Schemas } from "../api/client";
import { serverNow } from "../state/clock";
import { time } from "../text/format";
import { Name } from "../ui/parts";

type Stop = Schemas["Override"];

export function Stops({ stops }: { stops: readonly Stop[] | undefined }) {
  return (
    <>
      {stops?.map((stop) => (
        <p key={stop.id} class="stop">
          <strong>
            {stop.selector?.target ? <Name>{stop.selector.target}</Name> : "Everything"} is{" "}
            {stop.kind === "OVERRIDE_KIND_PAUSE" ? "paused" : "throttled"}
          </strong>{" "}
          by <Name>{stop.actor}</Name> since {time(stop.created_at, serverNow())} UTC: <Name>{stop.reason}</Name>
        </p>
      ))}
    </>
  );
}
