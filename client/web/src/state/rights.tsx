// What this reader may change, so that nothing else is offered. Whether a page may change anything the server says when
// it is asked, and what its reader is granted with its status. Who may not see that learns it by being refused: what was
// refused is not offered again.
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import type { ApiError, Schemas } from "../api/client";
import { useSession } from "./live";

export type Grant = "overrides" | "exempt_overrides" | "everything" | "forgive";
const GRANTS: readonly Grant[] = ["overrides", "exempt_overrides", "everything", "forgive"];

export interface Rights {
  // The server knows callers by itself, and asks no page for a name.
  knowsCallers: boolean;
  // Why this page changes nothing at all.
  refusal: ApiError | undefined;
  may: (grant: Grant) => boolean;
  // A call was refused: remembers what is missing.
  learn: (error: ApiError) => void;
}

const RightsContext = createContext<Rights>({ knowsCallers: false, refusal: undefined, may: () => false, learn: () => {} });
export const useRights = () => useContext(RightsContext);

// "exempt_overrides: true", as a refusal has it.
const grantOf = (missing: string) => GRANTS.find((grant) => missing === `${grant}: true`);

interface Props {
  knowsCallers: boolean | undefined; // undefined until the server has said so
  caller: Schemas["CallerStatus"] | undefined; // absent where it is not told
  signedIn: unknown; // changes with whoever signs in
  children: ComponentChildren;
}

export function RightsProvider(props: Props) {
  const { knowsCallers, caller, signedIn } = props;
  const { api } = useSession();
  const [page, setPage] = useState<{ refusal?: ApiError }>();
  const [lacks, setLacks] = useState<readonly Grant[]>([]);
  useEffect(() => {
    let gone = false;
    setLacks([]);
    api.refusalOf("create_override").then(
      (refusal) => gone || setPage(refusal ? { refusal } : {}),
      () => {}, // nobody answers: nothing is offered
    );
    return () => {
      gone = true;
    };
  }, [api, signedIn]);
  const rights = useMemo<Rights>(
    () => ({
      knowsCallers: knowsCallers ?? false,
      refusal: page?.refusal,
      may: (grant) => knowsCallers !== undefined && page !== undefined && !page.refusal && !lacks.includes(grant) && (!caller || caller[grant] === true),
      learn: (error) => {
        const grant = grantOf(error.missing);
        if (grant) setLacks((before) => [...before, grant]);
      },
    }),
    [knowsCallers, caller, page, lacks],
  );
  return <RightsContext.Provider value={rights}>{props.children}</RightsContext.Provider>;
}
