// Whether somebody is held back now, and since when.
import { span } from "../../text/format";
import { Badge } from "../../ui/parts";
import { isRecent } from "./grouping";

export function WhenBadge({ from, to, asOf }: { from: string | undefined; to: string | undefined; asOf: number }) {
  if (!isRecent(to, asOf)) return <Badge tone="quiet">over</Badge>;
  return <Badge tone="bad">now, for {span(Math.max(0, (asOf - Date.parse(from ?? "")) / 1000))}</Badge>;
}
