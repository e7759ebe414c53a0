// What was probably meant by a name that nobody uses.

// How many letters have to be changed, added or left out.
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

// All levels of an identity, the whole first: "a:b:c", "b:c", "c".
export function levelsOf(identity: string): string[] {
  const segments = identity.split(":");
  return segments.map((_, i) => segments.slice(i).join(":"));
}

const MOST = 3;

// Levels of known identities that are spelt nearly so, or that go on after it: "nightly" is "nightly:etl".
export function nearest(name: string, known: readonly string[]): string[] {
  const text = name.toLowerCase();
  const most = Math.max(1, Math.floor(text.length / 5));
  const rank = (level: string) => {
    const other = level.toLowerCase();
    if (other.startsWith(`${text}:`)) return 0;
    return Math.abs(other.length - text.length) > most ? Infinity : distance(text, other);
  };
  return [...new Set(known.flatMap(levelsOf))]
    .filter((level) => level !== name)
    .map((level) => [rank(level), level] as const)
    .filter(([far]) => far <= most)
    .sort(([a], [b]) => a - b)
    .slice(0, MOST)
    .map(([, level]) => level);
}
