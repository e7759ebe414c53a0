// Whose throttle log answers: of several servers each has one of its own, unless PostgreSQL keeps one for all.
import { useLive } from "../state/live";

// The name of the server whose log it is; empty: it is the log of all.
export function useLogOf(): string {
  const { data } = useLive("get_status", {}, 10_000);
  if (!data?.cluster || data.throttle_log?.store === "postgres") return "";
  return data.cluster.server ?? "";
}
