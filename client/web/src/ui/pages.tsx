// The way through the pages of a list.
import { number } from "../text/format";

export function Pages(props: { of: string; page: number; pages: number; onPage: (page: number) => void }) {
  const { page, pages, onPage } = props;
  return (
    <nav class="pages" aria-label={`Pages of ${props.of}`}>
      <button type="button" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Back
      </button>
      <span>
        {number(page + 1)} of {number(pages)}
      </span>
      <button type="button" disabled={page + 1 >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
