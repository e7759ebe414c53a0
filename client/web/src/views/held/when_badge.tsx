// Whether somebody is held back now, and since when.
import { span } from "../../text/format";
import { Badge } from "../../ui/parts";

const RECENT_MS = 30_000;

export const isRecent = (to: string | undefined, asOf: number) => asOf - Date.parse(to ?? "") < RECENT_MS;

export function WhenBadge({ from, to, asOf }: { from: string | undefined; to: string | undefined; asOf: number }) {
  if (!isRecent(to, asOf)) return <Badge tone="quiet">over</Badge>;
  return <Badge tone="bad">now, for {span(Math.max(0, (asOf - Date.parse(from ?? "")) / 1000))}</Badge>;
}
