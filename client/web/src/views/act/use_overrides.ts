// All orders that are in force.
import type { ResponseOf } from "../../api/client";
import { useLive, type Live } from "../../state/live";

const MOST = 1000;

export type Overrides = Live<ResponseOf<"list_overrides">>;
export const useOverrides = (): Overrides => useLive("list_overrides", { page_size: MOST });
