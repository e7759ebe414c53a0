// What is asked for is in force already: that is said instead of offering it, with who did it and the way back.
import { useNow } from "../../state/live";
import { Link } from "../../ui/link";
import { Name } from "../../ui/parts";
import type { Override } from "./draft";
import { EndButton, untilText } from "./orders";
import { WhatItDoes, WhomOf } from "./override";

export function Already({ order }: { order: Override }) {
  const now = useNow();
  return (
    <div class="ask" role="status">
      <p>
        <strong>This is in force already.</strong>
      </p>
      <p>
        <WhatItDoes override={order} /> <WhomOf selector={order.selector} /> by <Name>{order.actor}</Name>, {untilText(order, now)}: <Name>{order.reason}</Name>{" "}
        <EndButton override={order} name="Undo" />
      </p>
      <p class="muted">
        Another one, with an end of its own, is made under <Link to={{ view: "force" }}>In force</Link>.
      </p>
    </div>
  );
}
