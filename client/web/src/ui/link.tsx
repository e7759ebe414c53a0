// A link within the page: its address can be copied, and opened in another tab.
import type { ComponentChildren } from "preact";
import { go, HOME, usePlace, writePlace, type Place } from "../state/url";

export function Link(props: { to: Partial<Place>; class?: string; current?: boolean; label?: string; children: ComponentChildren }) {
  const place = usePlace();
  const { q, sort, page, cost, pattern, tags } = HOME;
  const to = { ...place, q, sort, page, cost, pattern, tags, ...props.to };
  return (
    <a
      href={writePlace(to)}
      class={props.class}
      aria-label={props.label}
      aria-current={props.current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    >
      {props.children}
    </a>
  );
}
