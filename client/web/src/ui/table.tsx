// A table of anything: searched, sorted and in pages, all of which is in the address.
import type { ComponentChildren } from "preact";
import { go, usePlace } from "../state/url";
import { number } from "../text/format";
import { Pages } from "./pages";

export interface Column<Row> {
  key: string;
  title: string;
  cell: (row: Row) => ComponentChildren;
  // What it is sorted by; without it, it is not.
  by?: (row: Row) => number | string;
  number?: boolean;
}

export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): Row[] {
  const down = sort.startsWith("-");
  const by = columns.find((column) => column.key === sort.replace(/^-/, ""))?.by;
  if (!by) return [...rows];
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    const order = x < y ? -1 : x > y ? 1 : 0;
    return down ? -order : order;
  });
}

// All words have to be in it, in any order.
export function matches(text: string, q: string): boolean {
  const within = text.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((part) => within.includes(part));
}

// Numbers begin with the largest, names with the first; the next click turns them round.
function nextSort<Row>(column: Column<Row>, sort: string): string {
  const down = `-${column.key}`;
  if (sort === down) return column.key;
  return sort === column.key || column.number ? down : column.key;
}

interface Props<Row> {
  caption: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id: (row: Row) => string;
  // Where the table is the view's own, it is searched and sorted by the address.
  text?: (row: Row) => string;
  sort?: string;
  pageSize?: number;
  isCut?: boolean; // the server has more than these
  empty: string;
}

export function Table<Row>(props: Props<Row>) {
  const place = usePlace();
  const isMain = props.text !== undefined;
  const sort = (isMain && place.sort) || props.sort || "";
  const found =
    isMain && place.q ? props.rows.filter((row) => matches(props.text!(row), place.q)) : props.rows;
  const rows = sorted(found, props.columns, sort);
  const size = props.pageSize ?? 50;
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const page = isMain ? Math.min(place.page, pages - 1) : 0;
  const shown = isMain ? rows.slice(page * size, (page + 1) * size) : rows;

  const head = (column: Column<Row>) => {
    const down = sort === `-${column.key}`;
    const is = down || sort === column.key;
    const order = is ? (down ? "descending" : "ascending") : undefined;
    return (
      <th key={column.key} scope="col" class={column.number ? "num" : ""} aria-sort={order}>
        {column.by && isMain ? (
          <button
            type="button"
            class="sort"
            onClick={() => go({ sort: nextSort(column, sort), page: 0 }, true)}
          >
            {column.title}
            <span aria-hidden="true">{is ? (down ? " ↓" : " ↑") : ""}</span>
          </button>
        ) : (
          column.title
        )}
      </th>
    );
  };

  return (
    <>
      {isMain && (props.rows.length > 8 || place.q !== "") && <Search count={rows.length} of={props.rows.length} isCut={props.isCut ?? false} />}
      {rows.length === 0 ? (
        <p class="empty">{place.q && isMain && props.rows.length > 0 ? `Nothing fits the search; without it there are ${number(props.rows.length)}.` : props.empty}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={props.caption}>
          <table>
            <caption class="hidden">{props.caption}</caption>
            <thead>
              <tr>{props.columns.map(head)}</tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={props.id(row)}>
                  {props.columns.map((column) => (
                    <td key={column.key} class={column.number ? "num" : ""} data-title={column.title}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages > 1 && isMain && <Pages of="this table" page={page} pages={pages} onPage={(next) => go({ page: next })} />}
    </>
  );
}

function Search({ count, of, isCut }: { count: number; of: number; isCut: boolean }) {
  const place = usePlace();
  return (
    <div class="search">
      <input
        type="search"
        data-search
        aria-label="Search this table"
        placeholder="Search  /"
        value={place.q}
        onInput={(event) => go({ q: event.currentTarget.value, page: 0 }, true)}
      />
      <span class="muted" role="status">
        {count === of ? number(of) : `${number(count)} of ${number(of)}`}
        {isCut && ", and the server has more"}
      </span>
    </div>
  );
}
