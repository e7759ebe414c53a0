// What operators have set on the target that is looked at, on Now: by whom, until when, and a button that ends it.
import { Link } from "../ui/link";
import { Card, Empty, Loaded } from "../ui/parts";
import { isOn } from "./act/draft";
import { OrderRow } from "./act/orders";
import type { Overrides } from "./act/use_overrides";

const SHOWN = 6;

export function OrdersHere({ target, overrides }: { target: string; overrides: Overrides }) {
  return (
    <Card title="In force" id="orders" wide>
      <Loaded live={overrides}>
        {(data) => {
          // What is on everything stands above, as a banner.
          const here = (data.overrides ?? []).filter((override) => isOn(override, target) && !override.selector?.everything);
          if (here.length === 0) {
            return <Empty>No job is paused, throttled, exempted or resumed here. Each such order would be listed, with who gave it and until when.</Empty>;
          }
          return (
            <>
              <ul class="rows">
                {here.slice(0, SHOWN).map((override) => (
                  <OrderRow key={override.id} override={override} />
                ))}
              </ul>
              {here.length > SHOWN && <Link to={{ view: "force" }}>{here.length - SHOWN} more under In force</Link>}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
