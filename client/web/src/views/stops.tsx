// Overrides of everything, which nobody should have to look for: who, why, until when, and the way out.
import type { Schemas } from "../api/client";
import { useNow } from "../state/live";
import { time } from "../text/format";
import { Name } from "../ui/parts";
import { EndButton, untilText } from "./act/orders";

type Stop = Schemas["Override"];

export function Stops({ stops }: { stops: readonly Stop[] | undefined }) {
  const now = useNow();
  return (
    <>
      {stops?.map((stop) => (
        <div key={stop.id} class="stop">
          <p>
            <strong>
              {stop.selector?.target ? <Name>{stop.selector.target}</Name> : "Everything"} is{" "}
              {stop.kind === "OVERRIDE_KIND_PAUSE" ? "paused" : "throttled"}
            </strong>{" "}
            by <Name>{stop.actor}</Name> since {time(stop.created_at, now)} UTC, {untilText(stop, now)}: <Name>{stop.reason}</Name>
          </p>
          <EndButton override={stop} name="End" />
        </div>
      ))}
    </>
  );
}
