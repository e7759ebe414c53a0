// A list of which a part is shown: searched, and in pages.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { number } from "../text/format";
import { Pages } from "./pages";
import { matches } from "./table";

const SIZE = 50;

export function Paged<Row>(props: {
  name: string; // for those who hear it: "overrides"
  rows: readonly Row[];
  isCut?: boolean; // the server has more than these
  text: (row: Row) => string;
  row: (row: Row) => ComponentChildren;
}) {
  const [q, setQ] = useState("");
  const [asked, setPage] = useState(0);
  const found = q.trim() ? props.rows.filter((row) => matches(props.text(row), q.trim())) : props.rows;
  const pages = Math.max(1, Math.ceil(found.length / SIZE));
  const page = Math.min(asked, pages - 1);
  return (
    <>
      {props.rows.length > 8 && (
        <div class="search">
          <input
            type="search"
            aria-label={`Search these ${props.name}`}
            placeholder="Search"
            value={q}
            onInput={(event) => {
              setQ(event.currentTarget.value);
              setPage(0);
            }}
          />
          <span class="muted" role="status">
            {found.length === props.rows.length ? "" : `${number(found.length)} of `}
            {number(props.rows.length)}
            {props.isCut && ", and the server has more"}
          </span>
        </div>
      )}
      {found.length === 0 ? <p class="empty">Nothing fits the search.</p> : <ul class="rows">{found.slice(page * SIZE, (page + 1) * SIZE).map(props.row)}</ul>}
      {pages > 1 && <Pages of={props.name} page={page} pages={pages} onPage={setPage} />}
    </>
  );
}
