// Which sessions of batch work yield the processor, as the agent beside PostgreSQL says.
import type { Schemas } from "../api/client";
import { number } from "../text/format";
import { numberOf } from "../text/health";
import { raisedTexts, workText, yieldingText } from "../text/yielding";
import { Badge, Card, Name } from "../ui/parts";

export function Yielding({ agent }: { agent?: Schemas["AgentStatus"] }) {
  const state = agent?.state;
  if (!state) return null;
  return (
    <Card
      title="Batch work yields"
      id="yielding"
      aside={<Badge tone={state.yields ? "good" : "warn"}>{state.yields ? "yes" : "no"}</Badge>}
    >
      <p>
        <Name>{yieldingText(state)}</Name>
      </p>
      {raisedTexts(state).map((text) => (
        <p key={text}>
          <Name>{text}</Name>
        </p>
      ))}
      {state.yields && workText(state) !== "" && <p>{workText(state)}</p>}
      {state.yields && (
        <p class="muted">
          {number(numberOf(state.processor_seconds))} s of processor time while they yielded; raised {Number(state.raises ?? 0)} times
        </p>
      )}
    </Card>
  );
}
