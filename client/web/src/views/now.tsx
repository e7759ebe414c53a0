// Now: how each target is, what is held back, and who is next.
import { useLive } from "../state/live";
import { usePlace } from "../state/url";
import { Loaded } from "../ui/parts";
import { Fleet } from "./fleet";
import { Target } from "./target";

export function Now({ targets }: { targets: readonly string[] }) {
  const place = usePlace();
  const single = targets.length <= 1;
  return place.target || single ? <Target name={place.target} /> : <AllTargets />;
}

function AllTargets() {
  const status = useLive("get_status", {});
  return <Loaded live={status}>{(data) => <Fleet status={data} />}</Loaded>;
}
