// Whose throttle log answers: of several servers each has one of its own, unless PostgreSQL keeps one for all.
import { useContext } from "preact/hooks";
import { ServerStatus } from "../state/server_status";
import { Name } from "../ui/parts";

// The name of the server whose log it is; empty: it is the log of all.
export function useLogOf(): string {
  const status = useContext(ServerStatus);
  if (!status?.cluster || status.throttle_log?.store === "postgres") return "";
  return status.cluster.server ?? "";
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
