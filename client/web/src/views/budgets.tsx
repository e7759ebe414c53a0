// Each budget's rate, debt and room; and the buckets of split ones that owe most.
import type { Schemas } from "../api/client";
import { useLive, useOnScreen } from "../state/live";
import { duration, number, percent } from "../text/format";
import { numberOf } from "../text/health";
import { Paged } from "../ui/paged";
import { Badge, Card, Empty, Loaded, Meter, Name, type Tone } from "../ui/parts";

type Budget = Schemas["BudgetStatus"];

const toneOf = (fill: number): Tone => (fill >= 1 ? "bad" : fill > 0.8 ? "warn" : "good");
const unitOf = (unit: string | undefined) => (unit === "BUDGET_UNIT_BUSY_TIME" ? " busy s" : "");

export function Budgets({ target }: { target: string }) {
  const [element, seen] = useOnScreen();
  const live = useLive("list_budgets", seen ? { target, page_size: 200 } : undefined);
  return (
    <Card title="Budgets" id="budgets" element={element}>
      <Loaded live={live} isAsked={seen}>
        {(data) =>
          data.budgets?.length ? (
            <Paged
              name="budgets"
              rows={data.budgets}
              isCut={Boolean(data.next_page_token)}
              text={(budget) => budget.budget ?? ""}
              row={(budget) => <BudgetRow key={`${budget.target} ${budget.budget}`} budget={budget} />}
            />
          ) : (
            <Empty>No rule charges a budget here: nothing is limited. What each budget owes would be shown here.</Empty>
          )
        }
      </Loaded>
    </Card>
  );
}

function BudgetRow({ budget }: { budget: Budget }) {
  const unit = unitOf(budget.unit);
  const debt = numberOf(budget.debt);
  const burst = budget.burst === undefined ? undefined : numberOf(budget.burst);
  const speed = numberOf(budget.speed);
  const fill = burst === undefined || burst === Infinity ? NaN : burst === 0 ? 1 : debt / burst;
  const split = budget.split && budget.split !== "none";
  return (
    <li class="row">
      <div class="row-head">
        <Name>{budget.budget}</Name>
        {budget.mode === "WARN" && <Badge tone="quiet">warns only</Badge>}
        {budget.auto_rate && <Badge tone="quiet">auto</Badge>}
        {speed < 1 && !budget.auto_rate && <Badge tone="warn">at {percent(speed)}</Badge>}
        <strong class="end">{budget.rate === undefined ? "no rate" : `${number(numberOf(budget.rate) * (budget.auto_rate ? 1 : speed))}${unit} / s`}</strong>
      </div>
      <Meter value={fill} tone={toneOf(fill)} label={`Debt of ${budget.budget}`} />
      <p class="muted">
        {burst === undefined ? (
          "no burst"
        ) : (
          <>
            {split ? "the fullest owes " : "owes "}
            {number(debt)} of {number(burst)}
            {unit} · room for {number(Math.max(0, burst - debt))}
          </>
        )}
        {split && <> · {budget.split}, {number(budget.buckets_owing)} owe</>}
        {budget.max_concurrency !== undefined && (
          <>
            {" "}
            · {number(budget.outstanding)} of {number(budget.max_concurrency)} permits
          </>
        )}
        {numberOf(budget.overruns) > 0 && <> · {number(budget.overruns)} overruns</>}
      </p>
    </li>
  );
}

const NoBuckets = () => <Empty>No bucket of a split budget owes anything. The fullest would be listed here.</Empty>;

export function Buckets({ target, owing }: { target: string; owing: number }) {
  const [element, seen] = useOnScreen();
  const live = useLive("list_buckets", seen && owing > 0 ? { target, page_size: 12 } : undefined);
  return (
    <Card title="Fullest buckets" id="buckets" element={element} aside={!target && <span class="muted">{number(owing)} owe</span>}>
      {owing === 0 ? (
        <NoBuckets />
      ) : (
        <Loaded live={live} isAsked={seen}>
          {(data) => !data.buckets?.length ? <NoBuckets /> : (
            <ul class="rows">
              {data.buckets.map((bucket, i) => (
                <li class="row" key={i}>
                  <div class="row-head">
                    {bucket.bucket ? <Name mono>{bucket.bucket}</Name> : <span class="muted">not refused lately, so its name is not kept</span>}
                    <strong class="end">{percent(numberOf(bucket.fill))}</strong>
                  </div>
                  <Meter
                    value={numberOf(bucket.fill)}
                    tone={toneOf(numberOf(bucket.fill))}
                    label={`Fill of ${bucket.bucket || "a bucket"} in ${bucket.budget}`}
                  />
                  <p class="muted">
                    <Name>{bucket.budget}</Name> · owes {number(bucket.debt)}
                    {unitOf(bucket.unit)} · {bucket.empty_in === undefined ? "does not drain" : `empty in ${duration(bucket.empty_in)}`}
                  </p>
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      )}
    </Card>
  );
}
