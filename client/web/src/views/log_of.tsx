// Whose throttle log answers: of several servers each has one of its own, unless PostgreSQL keeps one for all.
import { useLive } from "../state/live";
import { Name } from "../ui/parts";

// The name of the server whose log it is; empty: it is the log of all.
export function useLogOf(): string {
  const { data } = useLive("get_status", {}, 10_000);
  if (!data?.cluster || data.throttle_log?.store === "postgres") return "";
  return data.cluster.server ?? "";
}

export function LogOf() {
  const server = useLogOf();
  if (!server) return null;
  return (
    <span class="muted">
      by the log of <Name>{server}</Name> alone: what other servers decided is in theirs
    </span>
  );
}
