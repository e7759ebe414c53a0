// What of the throttle log is looked at: whose Checks, on which target, and when.
import type { RequestOf } from "../api/client";

export type Filter = NonNullable<RequestOf<"query_throttle_log">["filter"]>;
