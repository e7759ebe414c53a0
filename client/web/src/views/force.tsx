// What is in force: overrides, the rules of the configuration, and who did what.
import { useLive } from "../state/live";
import { useRights } from "../state/rights";
import { usePlace } from "../state/url";
import { Paged } from "../ui/paged";
import { Card, Empty, Loaded, Name, Trouble } from "../ui/parts";
import { isOn } from "./act/draft";
import { OrderRow } from "./act/orders";
import { StepIn } from "./act/step_in";
import { Audit } from "./audit";
import { Rules } from "./rules";

export function Force({ targets }: { targets: readonly string[] }) {
  const { refusal } = useRights();
  return (
    <>
      {refusal && (
        <div class="notice" role="status">
          <Trouble error={refusal} />
        </div>
      )}
      <div class="cards">
        <InForce />
        <div class="column">{refusal ? <Rules /> : <StepIn targets={targets} />}</div>
        <div class="column">
          <Audit />
          {!refusal && <Rules />}
        </div>
      </div>
    </>
  );
}

function InForce() {
  const { target } = usePlace();
  const live = useLive("list_overrides", { page_size: 1000 });
  return (
    <Card title="Overrides in force" id="overrides" wide>
      <Loaded live={live}>
        {(data) => {
          const all = data.overrides ?? [];
          const here = all.filter((override) => isOn(override, target));
          const elsewhere = all.length - here.length;
          return (
            <>
              {here.length > 0 ? (
                <Paged
                  name="overrides"
                  rows={here}
                  isCut={Boolean(data.next_page_token)}
                  text={({ id, selector, actor, reason }) => [id, selector?.identity, selector?.segment, selector?.target, actor, reason].join(" ")}
                  row={(override) => <OrderRow key={override.id} override={override} />}
                />
              ) : (
                <Empty>No override is in force{elsewhere > 0 && <> on <Name>{target}</Name></>}. What is paused, throttled, exempted or resumed would be listed here, with an end.</Empty>
              )}
              {elsewhere > 0 && <p class="muted">{elsewhere} more on other targets alone.</p>}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
