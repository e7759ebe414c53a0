// Leases: work that was charged in advance and is done without asking. Who holds how much, and until when.
import type { Schemas } from "../api/client";
import { useLive } from "../state/live";
import { duration, number, plural } from "../text/format";
import { numberOf } from "../text/health";
import { Link } from "../ui/link";
import { Badge, Card, Empty, Name } from "../ui/parts";
import { Actions } from "./act/actions";

type Holder = Schemas["LeaseHolder"];
type Lease = Schemas["HeldLease"];

// As many holders as status names; there may be more then.
const MOST = 5;
const LEASES = 20;

// Status has those who hold most, so they are not asked for once more.
export function Leases({ leases, target }: { leases: Schemas["LeasesStatus"] | undefined; target: string | undefined }) {
  if (!leases) return null;
  const holders = leases.most ?? [];
  return (
    <Card title="Leases" id="leases" aside={<Sum leases={numberOf(leases.leases)} amount={numberOf(leases.amount)} />}>
      <ul class="rows">
        {holders.map((holder) => (
          <HolderRow key={holder.identity} holder={holder} target={target} />
        ))}
      </ul>
      {numberOf(leases.holders) > MOST && <p class="muted">These are the {MOST} of {number(leases.holders)} that hold most.</p>}
      <Overdue count={numberOf(leases.overdue)} amount={numberOf(leases.overdue_amount)} />
    </Card>
  );
}

// Of one identity and all below it, each by itself. Nothing where there are none, or where they may not be seen.
export function LeasesOf({ identity, target }: { identity: string; target: string }) {
  const live = useLive("list_leases", { identity, ...(target && { target }), page_size: LEASES, leases: LEASES });
  const data = live.data;
  if (!data?.holders?.length) return null;
  const more = numberOf(data.holders_in_all) - data.holders.length;
  return (
    <Card title={<>Leases of <Name mono>{identity}</Name></>} id="leases" wide aside={<span class="muted">{plural(numberOf(data.leases), "lease")} now</span>}>
      <ul class="rows">
        {data.holders.map((holder) => (
          <HolderRow key={`${holder.target} ${holder.identity}`} holder={holder} target={target} showsEach isBelow={holder.identity !== identity} />
        ))}
      </ul>
      {more > 0 && <p class="muted">and {plural(more, "more identity", "more identities")}</p>}
      {numberOf(data.leases) === 0 && <Empty>None of them is out any more.</Empty>}
    </Card>
  );
}

const Sum = ({ leases, amount }: { leases: number; amount: number }) => (
  <span class="muted">
    {plural(leases, "lease")}
    {leases > 0 && ` of ${number(amount)}`}
  </span>
);

function Overdue({ count, amount }: { count: number; amount: number }) {
  if (count === 0) return null;
  return (
    <p>
      <Badge tone="warn">{number(count)} overdue</Badge>{" "}
      <span class="muted">
        of {number(amount)}: not returned in time, so {count === 1 ? "it counts" : "they count"} as used
      </span>
    </p>
  );
}

const chargedText = (charges: readonly Schemas["LeaseCharge"][] | undefined) =>
  (charges ?? []).map(({ budget, cost, unit }) => `${number(cost)}${unit === "BUDGET_UNIT_BUSY_TIME" ? " busy s" : ""} to ${budget}`).join(", ");

function HolderRow(props: { holder: Holder; target: string | undefined; showsEach?: boolean; isBelow?: boolean }) {
  const { holder, target, showsEach, isBelow = true } = props;
  const { identity = "", leases, amount, charges } = holder;
  const charged = chargedText(charges);
  return (
    <li class="row">
      <div class="row-head">
        {identity === "" ? (
          <span class="muted" title="They were granted before the server started, or by another server.">
            not known whose
          </span>
        ) : isBelow ? (
          <Link to={{ view: "who", identity, segment: "", ...(holder.target && { target: holder.target }) }}>
            <Name mono>{identity}</Name>
          </Link>
        ) : (
          <Name mono>{identity}</Name>
        )}
        {!target && holder.target && (
          <span class="muted">
            on <Name>{holder.target}</Name>
          </span>
        )}
        {numberOf(leases) > 0 && (
          <span>
            {plural(numberOf(leases), "lease")} of {number(amount)}
          </span>
        )}
        {showsEach ? null : numberOf(holder.overdue) > 0 && <Badge tone="warn">{number(holder.overdue)} overdue</Badge>}
        <span class="muted end">{holder.ends_in !== undefined && `${numberOf(leases) > 1 ? "the last ends" : "ends"} in ${duration(holder.ends_in)}`}</span>
        {identity !== "" && !showsEach && <Actions whom={{ identity, target: holder.target ?? "" }} short />}
      </div>
      {charged !== "" && (
        <p class="muted">
          charged <Name>{charged}</Name>
        </p>
      )}
      {showsEach && (
        <>
          <ul class="rows leases">
            {(holder.held ?? []).map((lease, i) => (
              <LeaseRow key={i} lease={lease} />
            ))}
          </ul>
          <Overdue count={numberOf(holder.overdue)} amount={numberOf(holder.overdue_amount)} />
        </>
      )}
    </li>
  );
}

function LeaseRow({ lease }: { lease: Lease }) {
  const charged = chargedText(lease.charges);
  return (
    <li class="row-head">
      <span>{number(lease.amount)}</span>
      {charged !== "" && (
        <span class="muted">
          charged <Name>{charged}</Name>
        </span>
      )}
      <span class="muted end">
        granted {duration(lease.granted_ago)} ago · {lease.ends_in !== undefined ? `ends in ${duration(lease.ends_in)}` : `overdue for ${duration(lease.overdue_for)}`}
      </span>
    </li>
  );
}
