// What each panel is for, in a sentence, and the page of the documentation that says more.

const DOCS = "https://github.com/headgate/headgate/blob/HEAD/docs";

export interface Help {
  says: string;
  page: string; // docs/PAGE.md
}

const help = (page: string, says: string): Help => ({ page, says });

// By the panel's id.
export const HELP: Readonly<Record<string, Help>> = {
  fleet: help("health", "Each database cluster, the worst first; pressure 1 shuts its gate, and speed scales all its budgets."),
  orders: help("overrides", "What operators have set here: who did it, why, until when, and a button that ends it."),
  "held-back": help("throttle-log", "Jobs of which half of the Checks were denied in the last 15 minutes, or that waited half of the time, and what held them back."),
  lines: help("waiting", "Checks that wait in the server for their turn, what they wait for, and who is next."),
  leases: help("clients", "Work that was charged in advance, for a second or so, and is done without asking for each piece; what is not used is given back."),
  health: help("health", "What was measured, against soft, where work slows down, and hard, where the gate shuts."),
  servers: help("health", "The database servers that are measured, and how fresh the newest sample of each is."),
  members: help("cluster", "The Headgate servers that share the targets, and which of them decides for what."),
  budgets: help("page", "How much each budget owes of the most that it may owe; a full bar admits nothing until it drains."),
  auto: help("health", "The rate that was found where a budget says auto, and what keeps it from being higher."),
  yielding: help("agent", "Sessions of batch work that leave the processor to everybody else."),
  buckets: help("page", "The fullest parts of budgets that are split by identity or by a tag."),
  history: help("throttle-log", "How many Checks were allowed and denied in each step of time. The line has how many waited at a time, in the mean, by the scale at the right."),
  causes: help("throttle-log", "What Checks waited for in this time, and what denied them. What held back most comes first; a denial counts as a second of waiting."),
  identities: help("throttle-log", "Who asked in this time; a click goes one level down, from a root to its jobs. Held back is the larger of two shares: of Checks that were denied, and of time in which one waited. The colour over time has the same."),
  intervals: help("throttle-log", "Times in which half of a job's Checks were denied, or half of the time was waited, and by what, the newest first."),
  denials: help("throttle-log", "The newest denials one by one; the server keeps only these in memory."),
  explain: help("page", "What a Check with these values would be answered now, and why; nothing is charged."),
  answer: help("page", "The answer, what would have to change for another one, the rules that match, and the budgets that are charged."),
  "last-hour": help("throttle-log", "What became of the Checks of this job, and of all below it, whatever their cost and tags; and how long they waited."),
  overrides: help("overrides", "All that operators have set, on every target; each can be undone here."),
  "step-in": help("overrides", "Pause, throttle, exempt or resume somebody for a while; first it says whom that would hit."),
  rules: help("overrides", "The rules of the configuration in force, in its order."),
  audit: help("overrides", "Who made or ended an override, forgave a debt or moved a target, and when."),
  config: help("throttle-log", "Decides the recorded Checks again under a changed configuration; nothing is changed by it."),
  result: help("throttle-log", "What the changed configuration would have denied, beside what the one in force denies in the same replay."),
};

export const linkOf = ({ page }: Help) => `${DOCS}/${page}.md`;
