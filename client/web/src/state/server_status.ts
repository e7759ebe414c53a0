// What the server says of itself, asked for by the frame of the page, for all that is in it.
import { createContext } from "preact";
import type { Schemas } from "../api/client";

export const ServerStatus = createContext<Schemas["GetStatusResponse"] | undefined>(undefined);
