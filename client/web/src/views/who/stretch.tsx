// From when to when, for who cannot drag. What is typed stays while the time goes on.
import { useState } from "preact/hooks";
import { serverNow } from "../../state/clock";
import { go } from "../../state/url";
import { typedOf, whenOf } from "../../text/when";

export function Stretch({ fromMs, toMs }: { fromMs: number; toMs: number }) {
  const [typed, setTyped] = useState<{ from?: string; to?: string }>({});
  const from = typed.from ?? typedOf(fromMs);
  const to = typed.to ?? typedOf(toMs);
  const now = serverNow();
  const begin = whenOf(from, now, fromMs);
  // "from yesterday 07:00 to 07:25" is of one day.
  const end = whenOf(to, now, typed.from !== undefined && begin !== undefined ? begin : toMs);
  const isWrong = begin !== undefined && end !== undefined && begin >= end;
  const show = (event: Event) => {
    event.preventDefault();
    if (isWrong || begin === undefined || end === undefined) return;
    setTyped({});
    go({ range: `${new Date(begin).toISOString()}/${new Date(end).toISOString()}`, page: 0 });
  };
  const input = (name: "from" | "to", value: string, at: number | undefined) => (
    <input
      required
      size={19}
      autocomplete="off"
      spellcheck={false}
      value={value}
      aria-invalid={isWrong || at === undefined}
      aria-describedby="when-help"
      onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
    />
  );
  return (
    <form class="stretch" onSubmit={show}>
      <label>From (UTC) {input("from", from, begin)}</label>
      <label>To (UTC) {input("to", to, end)}</label>
      <button type="submit" disabled={isWrong || begin === undefined || end === undefined}>
        Show this time
      </button>
      <span class="muted" id="when-help">
        24-hour clock: 2026-03-01 07:00, yesterday 07:00, or 07:25 of the day shown
      </span>
      {isWrong && (
        <span class="trouble" role="alert">
          It has to begin before it ends.
        </span>
      )}
    </form>
  );
}
