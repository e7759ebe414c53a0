// What was typed or done on a view stays for as long as the tab is open: one may look at another view and come back,
// or have to sign in again.
import { useEffect, useState } from "preact/hooks";

const kept = new Map<string, unknown>();
const listeners = new Map<string, Set<() => void>>();

// As useState, but under a name: whoever uses the same name has the same.
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const [, draw] = useState(0);
  useEffect(() => {
    const all = listeners.get(name) ?? new Set();
    listeners.set(name, all);
    const listener = () => draw((times) => times + 1);
    all.add(listener);
    return () => {
      all.delete(listener);
    };
  }, [name]);
  const set = (value: T) => {
    kept.set(name, value);
    for (const listener of listeners.get(name) ?? []) listener();
  };
  return [kept.has(name) ? (kept.get(name) as T) : initial, set];
}
