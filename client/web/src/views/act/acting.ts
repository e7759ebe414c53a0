// Opening the dialog in which somebody acts, from wherever somebody is seen.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Override, What, Whom } from "./draft";

export type Acting = { what: What; whom: Whom } | { end: Override };

export const ActContext = createContext<(acting: Acting) => void>(() => {});
export const useAct = () => useContext(ActContext);
