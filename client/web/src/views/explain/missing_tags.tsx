// A budget that is split by a tag has a bucket for each value of it. Without the tag the answer is about another bucket
// than that of the job: that is said, with the values that are known.
import type { Schemas } from "../../api/client";
import { useLive } from "../../state/live";
import { percent } from "../../text/format";
import { numberOf } from "../../text/health";
import { tagOfSplit, type Tags } from "../../text/tags";
import { Name } from "../../ui/parts";

const EVERY_MS = 5000;
const SHOWN = 5;

interface Props {
  target: string;
  tags: Tags;
  buckets: readonly Schemas["BucketState"][];
  take: (tags: string) => void;
}

export function MissingTags({ target, tags, buckets, take }: Props) {
  const live = useLive("list_budgets", { target, page_size: 1000 }, EVERY_MS);
  const charged = new Set(buckets.map(({ budget }) => budget));
  const missing = (live.data?.budgets ?? []).flatMap(({ budget, split }) => {
    const tag = tagOfSplit(split);
    return tag && budget && charged.has(budget) && !tags[tag] ? [{ budget, tag }] : [];
  });
  return (
    <>
      {missing.map((one) => (
        <Missing key={one.budget} {...one} target={target} tags={tags} take={take} />
      ))}
    </>
  );
}

function Missing({ budget, tag, target, tags, take }: Pick<Props, "target" | "tags" | "take"> & { budget: string; tag: string }) {
  const live = useLive("list_buckets", { target, budget, page_size: 20 }, EVERY_MS);
  const known = (live.data?.buckets ?? []).filter(({ bucket }) => bucket).slice(0, SHOWN);
  return (
    <div class="ask" role="status">
      <p>
        <strong>
          The tag <Name mono>{tag}</Name> is not given.
        </strong>{" "}
        Budget <Name>{budget}</Name> has a bucket for each value of it, so the job's own answer may be another one.
      </p>
      {known.length > 0 && (
        <p class="actions">
          {known.map(({ bucket, fill }) => (
            <button key={bucket} type="button" class="small" onClick={() => take([...Object.entries({ ...tags, [tag]: bucket! })].map((pair) => pair.join("=")).join(", "))}>
              <Name mono>{`${tag}=${bucket}`}</Name>, {percent(numberOf(fill))} full
            </button>
          ))}
        </p>
      )}
    </div>
  );
}
