// What `rate: auto` found, and why.
import type { Schemas } from "../api/client";
import { number, percent } from "../text/format";
import { numberOf } from "../text/health";
import { Badge, Card, Meter, Name, type Tone } from "../ui/parts";

const PHASES: Record<string, string> = {
  rest: "nobody asks",
  idle: "no foreground: full speed",
  work: "batch work runs",
  pause: "batch work is kept out for a moment, as the reference",
  blind: "the database cannot be sampled",
};

export function Controllers({ controllers }: { controllers: readonly Schemas["ControllerStatus"][] }) {
  if (controllers.length === 0) return null;
  return (
    <Card title="What auto found" id="auto">
      <ul class="rows">
        {controllers.map((controller) => (
          <li class="row" key={controller.budget}>
            <div class="row-head">
              <Name>{controller.budget}</Name>
              <Badge tone={controller.phase === "blind" ? "bad" : "quiet"}>{controller.phase}</Badge>
              <strong class="end">{number(controller.rate)} busy s / s</strong>
            </div>
            <p>{controller.explanation ? <Name>{controller.explanation}</Name> : PHASES[controller.phase ?? ""]}</p>
            {(controller.effects ?? []).map((effect) => (
              <Effect key={effect.kind} effect={effect} />
            ))}
            {numberOf(controller.foreground_alone) > 0 && (
              <p class="muted">
                Foreground: {number(controller.foreground_alone)} transactions a second alone,{" "}
                {number(controller.foreground_with_batch)} beside batch work
              </p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Effect({ effect }: { effect: Schemas["ForegroundEffect"] }) {
  const share = numberOf(effect.effect);
  const tolerated = numberOf(effect.tolerance);
  const fill = effect.known && tolerated > 0 ? Math.max(0, share / tolerated) : NaN;
  const tone: Tone = fill > 1 ? "bad" : effect.binds ? "warn" : "good";
  return (
    <div class="effect">
      <span>{effect.kind}</span>
      <Meter value={fill} tone={tone} label={`Effect on ${effect.kind} of what is tolerated`} />
      <span class="muted">
        {effect.known ? `${percent(share)} ± ${percent(numberOf(effect.uncertainty))} of ${percent(tolerated)}` : "not measured lately"}
      </span>
      {effect.binds && <Badge tone="warn">binds</Badge>}
    </div>
  );
}
