// What held somebody back, in words.
import type { Schemas } from "../api/client";
import { word } from "./format";

export type Cause = Pick<Schemas["DenialCause"], "reason" | "budget" | "rule" | "signal">;

// What is alike is one cause, whatever was measured then.
export const causeKey = ({ reason, budget, rule, signal }: Cause) => [reason, budget, rule, signal].join("\n");

// The override that a rule's name is of, as in "override 7: paused by ann (disk is full)"; empty: it is none.
export const overrideOf = (rule: string | undefined) => /^override (\d+):/.exec(rule ?? "")?.[1] ?? "";

// "budget rows", "budget rows, slowed by replication_lag_seconds", "gate shut by active_backends", "rule nights".
export function causeText({ reason, budget, rule, signal }: Cause): string {
  const why = word(reason, "REASON_");
  if (overrideOf(rule)) return rule!;
  if (budget) {
    const limit = { "max cost": " (largest cost of one Check)", "max concurrency": " (permits)", line: " (others wait before it)" }[why] ?? "";
    return `budget ${budget}${limit}${signal ? `, slowed by ${signal}` : ""}`;
  }
  if (why === "health") return signal ? `gate shut by ${signal}` : "gate shut for want of a sample";
  if (rule) return `rule ${rule}`;
  return why || "unknown";
}
