// What was typed or done on a view stays for as long as the tab is open: one may look at another view and come back,
// or have to sign in again.
import { useState } from "preact/hooks";

const kept = new Map<string, unknown>();

// As useState, but under a name.
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const [, draw] = useState(0);
  const set = (value: T) => {
    kept.set(name, value);
    draw((times) => times + 1);
  };
  return [kept.has(name) ? (kept.get(name) as T) : initial, set];
}
