// The job file as text, with completion from its schema and what is wrong at its line. The editor
// lives in a shadow root: there it styles itself by adopted sheets, which the policy allows.
import {type CompletionContext, autocompletion, completionKeymap} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap, indentWithTab} from "@codemirror/commands";
import {yaml} from "@codemirror/lang-yaml";
import {
  HighlightStyle,
  bracketMatching,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import {type Diagnostic, lintGutter, setDiagnostics} from "@codemirror/lint";
import {highlightSelectionMatches, searchKeymap} from "@codemirror/search";
import {EditorState} from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import {tags} from "@lezer/highlight";
import {useQuery} from "@tanstack/react-query";
import {useEffect, useRef} from "react";

import {text as fetchText} from "../../api/client";
import {type Schema, flowKey, keysAt, pathAt, valuesAt} from "../../lib/schema_path";
import type {Fault} from "./check";
import css from "./submit.module.css";

const kTheme = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--ground)",
    fontSize: "12px",
    minHeight: "420px",
  },
  ".cm-content": {fontFamily: "var(--mono)", caretColor: "var(--text)", minHeight: "410px"},
  ".cm-gutters": {backgroundColor: "var(--sunk)", color: "var(--muted)", border: "none"},
  ".cm-activeLine": {backgroundColor: "color-mix(in srgb, var(--line) 30%, transparent)"},
  ".cm-cursor": {borderLeftColor: "var(--text)"},
  "&.cm-focused": {outline: "2px solid var(--accent)"},
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
    color: "var(--text)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--text)",
  },
  ".cm-selectionBackground": {backgroundColor: "var(--accent-soft) !important"},
});
const kColours = HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)"},
  {tag: tags.comment, color: "var(--muted)", fontStyle: "italic"},
  {tag: [tags.string, tags.content], color: "var(--text)"},
  {tag: [tags.number, tags.bool, tags.null], color: "var(--good)"},
]);

function complete(schema: Schema | undefined) {
  return (context: CompletionContext) => {
    if (!schema) return null;
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const word = /[\w.-]*$/.exec(before)?.[0] ?? "";
    if (word === "" && !context.explicit) return null;
    const lines = context.state.doc.toString().split("\n");
    const lead = /^\s*(?:-\s+)?/.exec(before)?.[0].length ?? 0;
    const outer = pathAt(lines, line.number - 1, lead);
    if (/^\s*-\s+/.test(before)) outer.push("[]");
    const braces = flowKey(before);
    const path = braces ? [...outer, braces] : outer;
    const value = /(?:^|[\s{,-])([\w.-]+):\s+[\w.-]*$/.exec(before);
    const options = value?.[1]
      ? valuesAt(schema, [...path, value[1]]).map((label) => ({label, type: "enum"}))
      : keysAt(schema, path).map(({name, doc}) => ({
          label: name,
          type: "property",
          info: doc,
          apply: `${name}: `,
        }));
    return options.length ? {from: context.pos - word.length, options} : null;
  };
}

export default function Editor(props: {
  text: string;
  set: (text: string) => void;
  errors: Fault[];
}) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const set = useRef(props.set);
  set.current = props.set;
  const schema = useQuery({
    queryKey: ["schema", "job"],
    staleTime: Infinity,
    queryFn: async ({signal}) =>
      JSON.parse(await fetchText("/api/v1/schema/job", signal)) as Schema,
  });
  const known = useRef<Schema | undefined>(undefined);
  known.current = schema.data;
  useEffect(() => {
    const host = holder.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({mode: "open"});
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: props.text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(kColours),
          kTheme,
          lintGutter(),
          EditorView.lineWrapping,
          autocompletion({override: [(context) => complete(known.current)(context)]}),
          EditorView.contentAttributes.of({"aria-label": "Job file"}),
          // Escape, then Tab leaves the editor.
          keymap.of([
            ...completionKeymap,
            ...searchKeymap,
            ...historyKeymap,
            indentWithTab,
            ...defaultKeymap,
          ]),
          EditorView.updateListener.of(
            (update) => update.docChanged && set.current(update.state.doc.toString()),
          ),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const made = view.current;
    if (made && made.state.doc.toString() !== props.text)
      made.dispatch({changes: {from: 0, to: made.state.doc.length, insert: props.text}});
  }, [props.text]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const marks = props.errors.map((error): Diagnostic => {
      const line = made.state.doc.line(
        Math.min(Math.max(1, error.line ?? 1), made.state.doc.lines),
      );
      return {
        from: line.from,
        to: line.to,
        severity: "error",
        message: `${error.path}: ${error.text}`,
      };
    });
    made.dispatch(setDiagnostics(made.state, marks));
  }, [props.errors.map((error) => `${error.line}${error.text}`).join()]);
  return (
    <>
      <div ref={holder} className={css.editor} data-editor />
      {props.errors.length > 0 && (
        <ul className="bad" role="alert">
          {props.errors.map((error, i) => (
            <li key={i}>
              {error.line ? `Line ${error.line}, ` : ""}
              <code>{error.path || "the file"}</code>: {error.text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
