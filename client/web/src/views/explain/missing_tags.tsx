// A budget that is split by a tag has a bucket for each value of it. Where the tag is not given, which the server warns
// of, these are the values that are known: a click explains the Check with one.
import type { Schemas } from "../../api/client";
import { useLive } from "../../state/live";
import { percent } from "../../text/format";
import { numberOf } from "../../text/health";
import { tagOfSplit, tagText, type Tags } from "../../text/tags";
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
  if (known.length === 0) return null;
  return (
    <p class="actions">
      {known.map(({ bucket, fill }) => (
        <button key={bucket} type="button" class="small" onClick={() => take(tagText({ ...tags, [tag]: bucket! }))}>
          <Name mono>{`${tag}=${bucket}`}</Name>, {percent(numberOf(fill))} full
        </button>
      ))}
    </p>
  );
}
