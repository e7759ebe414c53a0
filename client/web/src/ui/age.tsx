// How old what is shown is, and whether it can be asked again. Who hears the page is told of an error once, and not of
// each second that it lasts.
import { useNow, useSession } from "../state/live";
import { span } from "../text/format";
import { Name } from "./parts";

export function Age() {
  useNow(500);
  const { freshness } = useSession();
  const fresh = freshness.read();
  if (!fresh) return null;
  const { at, isLate, error } = fresh;
  const ageS = at === undefined ? undefined : (performance.now() - at) / 1000;
  const tone = error ? "bad" : isLate ? "warn" : "good";
  return (
    <div class={`age ${tone}`} data-age={ageS ?? -1}>
      <i aria-hidden="true" />
      {error && (
        <span role="alert">
          <Name>{error.message}</Name>
        </span>
      )}
      <span>
        {error && ageS !== undefined && "what is shown is "}
        {ageS !== undefined ? `${span(Math.round(ageS))} old` : !error && "connecting"}
      </span>
    </div>
  );
}
