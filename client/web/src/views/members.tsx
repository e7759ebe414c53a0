// The servers that share the targets: who is here, who decides for what, and whether their store answers.
import type { Schemas } from "../api/client";
import { duration, plural } from "../text/format";
import { differencesOf, notesOf } from "../text/servers";
import { Badge, Card, Name, type Tone } from "../ui/parts";

type Cluster = Schemas["ClusterStatus"];
type Member = Schemas["MemberStatus"];

export const ownerOf = (cluster: Cluster | undefined, target: string | undefined) =>
  cluster?.targets?.find((one) => one.target === target)?.owner ?? "";

function stateOf(member: Member): [string, Tone] {
  if (!member.is_here) return ["away", "bad"];
  if (member.error) return ["did not answer", "bad"];
  if (member.is_leaving) return ["leaving", "warn"];
  if (member.is_drained) return ["drained", "warn"];
  return ["here", "good"];
}

export function Members({ cluster }: { cluster: Cluster }) {
  return (
    <Card title="Headgate's servers" id="members" aside={<Store cluster={cluster} />}>
      <ul class="rows">
        {(cluster.members ?? []).map((member) => {
          const [word, tone] = stateOf(member);
          return (
            <li key={member.name} class="row">
              <div class="row-head">
                <Name>{member.name}</Name>
                <Badge tone={tone}>{word}</Badge>
                {member.name === cluster.server && <span class="muted">shows this page</span>}
                <span class="muted end">
                  decides for {plural(member.targets ?? 0, "target")} · seen {duration(member.seen_ago)} ago
                  {member.version && ` · ${member.version}`}
                </span>
              </div>
              {member.error && (
                <p class="trouble">
                  <Name>{member.error}</Name>
                </p>
              )}
              {notesOf(member).map((note) => (
                <p key={note} class="trouble">
                  <Name>{note}</Name>
                </p>
              ))}
            </li>
          );
        })}
      </ul>
      {[...(cluster.store_note ? [`The store: ${cluster.store_note}`] : []), ...differencesOf(cluster)].map((note) => (
        <p key={note} class="muted">
          <Name>{note}</Name>
        </p>
      ))}
    </Card>
  );
}

function Store({ cluster }: { cluster: Cluster }) {
  if (!cluster.store_error) return <span class="muted">the store answers</span>;
  return <Badge tone="bad">no answer from the store for {duration(cluster.store_since)}</Badge>;
}

// Who decides for a target, in a sentence; nothing where there is one server.
export function DecidedBy({ cluster, target }: { cluster: Cluster | undefined; target: string | undefined }) {
  if (!cluster || !target) return null;
  const owner = ownerOf(cluster, target);
  const silent = cluster.members?.find((member) => member.name === owner)?.error;
  return (
    <>
      <p class="muted">
        {owner ? (
          <>
            Server <Name>{owner}</Name> decides for it.
          </>
        ) : (
          "No server decides for it just now: Checks are held for a moment."
        )}
      </p>
      {silent && (
        <p class="trouble">
          It did not answer: <Name>{silent}</Name>
        </p>
      )}
      {cluster.name_is_taken && <p class="trouble">Another process has the name of the server that shows this page.</p>}
      {cluster.store_error && (
        <p class="trouble">
          The servers' store has not answered for {duration(cluster.store_since)}: <Name>{cluster.store_error}</Name>
        </p>
      )}
    </>
  );
}
