// What a panel is for: behind a question mark, so that those who know it are not in its way.
import { useId, useState } from "preact/hooks";
import { linkOf, type Help } from "../text/help";

export function useHelp(help: Help | undefined) {
  const [open, setOpen] = useState(false);
  const id = useId();
  if (!help) return { button: null, text: null };
  const button = (
    <button type="button" class="help" aria-expanded={open} aria-controls={id} aria-label="What is this?" title="What is this?" onClick={() => setOpen(!open)}>
      ?
    </button>
  );
  const text = (
    <p class="help-text" id={id} hidden={!open}>
      {help.says}{" "}
      <a href={linkOf(help)} target="_blank" rel="noopener noreferrer">
        More in docs/{help.page}.md
      </a>
    </p>
  );
  return { button, text };
}
