// A view that cannot be drawn takes nothing else with it: what is around it stays, and the next place is drawn anew.
import { Component, type ComponentChildren } from "preact";
import { Name } from "./parts";

interface Props {
  at: string; // where one is
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { error?: unknown }> {
  override state: { error?: unknown } = {};
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override componentDidUpdate(before: Props) {
    if (before.at !== this.props.at && this.state.error !== undefined) this.setState({ error: undefined });
  }
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <p class="trouble" role="alert">
        This cannot be shown: <Name>{String(this.state.error)}</Name>. All other views can.
      </p>
    );
  }
}
