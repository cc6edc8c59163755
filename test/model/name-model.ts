import type { Operation } from "./history.js";
import { throughAnswers } from "./ledger-model.js";
import type { Model, Timed } from "./linearizable.js";

/** One name and whose it is. */
export interface NameState {
  readonly label: string;
  readonly alias: string;
  readonly answered: ReadonlyMap<string, Operation>;
}

/** A call that gave, took, freed or looked up a name. */
export interface NameEvent extends Timed {
  readonly op: Operation;
  /** Whether the call found its session under this name; undefined where it did not look it up. */
  readonly lookedUp: { readonly sessionId: string | undefined } | "nobody" | undefined;
}

export function nameModel(name: string): Model<NameEvent, NameState> {
  const act = (state: NameState, op: Operation): NameState | undefined => {
    const isFree = state.label === "" && state.alias === "";
    switch (op.method) {
      case "createSession":
      case "forkSession":
        if (op.request.label !== name) return state;
        if (op.error) return op.error.reason === "LABEL_TAKEN" && isFree ? undefined : state;
        return isFree ? { ...state, label: op.answer!.session!.id } : undefined;
      case "updateSession": {
        if (op.error)
          return op.error.reason === "LABEL_TAKEN" && op.request.label === name && isFree ? undefined : state;
        const { id } = op.answer!.session!;
        if (op.request.label === undefined) return state;
        if (op.request.label !== name) return state.label === id ? { ...state, label: "" } : state;
        const mayTake =
          state.label === id || (state.label === "" && (state.alias === "" || state.alias === id));
        return mayTake ? { ...state, label: id } : undefined;
      }
      case "deleteSession": {
        if (op.error) return state;
        const { sessionId } = op.answer!;
        const left = [...state.answered].filter(([, earlier]) => ownerOf(earlier) !== sessionId);
        return {
          label: state.label === sessionId ? "" : state.label,
          alias: state.alias === sessionId ? "" : state.alias,
          answered: new Map(left),
        };
      }
      case "aliasSession": {
        if (op.request.alias !== name) return state;
        if (op.error?.reason === "ALIAS_TAKEN")
          return isFree || (state.label === "" && op.request.replace) ? undefined : state;
        if (op.error) return state;
        const { id } = op.answer!.session!;
        const mayTake =
          state.label === "" && (state.alias === "" || state.alias === id || op.request.replace);
        return mayTake ? { ...state, alias: id } : undefined;
      }
      case "unaliasSession": {
        if (op.request.alias !== name) return state;
        if (op.error?.reason === "ALIAS_NOT_FOUND") return state.alias === "" ? state : undefined;
        if (op.error) return state;
        return state.alias === op.answer!.session!.id ? { ...state, alias: "" } : undefined;
      }
      default:
        return state;
    }
  };
  return {
    initial: { label: "", alias: "", answered: new Map() },
    key: ({ label, alias }) => `${label}|${alias}`,
    step(state, { op, lookedUp }) {
      const owner = state.label || state.alias;
      return throughAnswers(state, op, (current) => {
        if (lookedUp === "nobody" && owner !== "") return undefined;
        if (typeof lookedUp === "object" && owner !== (lookedUp.sessionId ?? (owner || "somebody")))
          return undefined;
        return act(current, op);
      });
    },
  };
}

function ownerOf(op: Operation): string {
  return op.answer && "session" in op.answer ? (op.answer.session?.id ?? "") : "";
}
