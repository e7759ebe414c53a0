// Tags of a Check as they are typed: "tenant=acme, region=eu".

export type Tags = Record<string, string>;

// Undefined: it is not written so.
export function tagsOf(text: string): Tags | undefined {
  const tags: Tags = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) return undefined;
    tags[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return tags;
}

// As it is typed: what tagsOf takes.
export const tagText = (tags: Tags) =>
  Object.entries(tags)
    .map((pair) => pair.join("="))
    .join(", ");

// The key of "tag tenant", as a budget says by what it is split; empty: it is not split by a tag.
export const tagOfSplit = (split: string | undefined) => (split?.startsWith("tag ") ? split.slice(4) : "");
