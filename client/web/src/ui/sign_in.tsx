// Asks for a token where the server knows nobody by the connection alone.
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { Name } from "./parts";

export function SignIn(props: { error: ApiError; had: boolean; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <section class="card sign-in" aria-labelledby="sign-in">
      <h2 id="sign-in">Sign in</h2>
      <p role={props.had ? "alert" : undefined} class={props.had ? "trouble" : "muted"}>
        <Name>{props.error.message}</Name>
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          props.onToken(token);
        }}
      >
        <label>
          Token
          <input
            type="password"
            required
            autofocus
            autocomplete="current-password"
            value={token}
            onInput={(event) => {
              const input = event.currentTarget;
              input.setCustomValidity(/^[\x20-\x7e]*$/.test(input.value) ? "" : "A token has none of these characters: is it the token?");
              setToken(input.value);
            }}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="muted">
        The token stays in this tab's memory: it is gone when the tab is closed or loaded again, and is never stored. With a client certificate that is listed for a
        caller, nothing has to be typed in.
      </p>
    </section>
  );
}
