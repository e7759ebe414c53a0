// What is worth knowing of servers that share targets, in sentences.
import type { Schemas } from "../api/client";

type Cluster = Schemas["ClusterStatus"];
type Member = Schemas["MemberStatus"];

// Of a hash: enough to tell so few apart.
const DIGITS = 8;

const because = (why: string | undefined) => (why ? `: ${why}` : "");

// Why a server that is here is not given targets.
export function notesOf(member: Member): string[] {
  if (!member.is_here) return [];
  const offers = member.offers ?? [];
  const stateless = offers.find((offer) => offer.keeps_no_state);
  if (stateless) return [`Cannot keep the states of targets in the store${because(stateless.why)}`];
  const notes: string[] = [];
  for (const offer of offers) {
    if (offer.measured === "MEASURED_NOTHING") notes.push(`Cannot measure ${offer.target}${because(offer.why)}`);
    if (offer.measured === "MEASURED_PARTLY") notes.push(`Measures a part of ${offer.target}${because(offer.why)}`);
  }
  return notes;
}

// Targets that the servers which are here do not have alike.
export function differencesOf(cluster: Cluster): string[] {
  const members = (cluster.members ?? []).filter((member) => member.is_here && !member.says_no_targets);
  const notes: string[] = [];
  for (const { target } of cluster.targets ?? []) {
    const names = new Map<string, string[]>();
    const lacking: string[] = [];
    for (const member of members) {
      const offer = member.offers?.find((one) => one.target === target);
      const configuration = offer?.configuration?.slice(0, DIGITS) ?? "";
      if (offer) names.set(configuration, [...(names.get(configuration) ?? []), member.name ?? ""]);
      else lacking.push(member.name ?? "");
    }
    if (names.size > 1) {
      const kinds = [...names].map(([configuration, servers]) => `${servers.join(", ")} ${configuration}`);
      notes.push(`${target} is configured differently: ${kinds.join("; ")}`);
    }
    if (names.size > 0 && lacking.length > 0) notes.push(`${target} is not in the file of ${lacking.join(", ")}`);
  }
  return notes;
}
