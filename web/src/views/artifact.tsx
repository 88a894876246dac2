// A file of a run, shown by what it is. Its bytes come as an attachment under a sandbox of its own:
// text is shown as text, a picture through a blob, and nothing of it ever runs.
import {useQuery} from "@tanstack/react-query";
import {useEffect, useState} from "react";

import {Refused, type Schemas, text as fetchText} from "../api/client";
import {bytes, short} from "../lib/format";
import {type Tabular, asMatrix, fromCsv} from "../lib/tabular";
import {slots} from "../lib/colours";
import {Chart} from "../ui/chart";
import {Loading, Notice, Trouble} from "../ui/words";
import css from "./artifact.module.css";

export type Artifact = Schemas["Artifact"];

const kMostText = 512 << 10; // of a preview; the file itself may be of any size
const kMostMedia = 64 << 20;
const kMostRows = 500;

export function artifactUrl(run: string, path: string): string {
  return `/api/v1/runs/${run}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`;
}

const kEndings: [RegExp, string][] = [
  [/\.(png|jpe?g|gif|webp|bmp|avif)$/i, "image"],
  [/\.(wav|mp3|ogg|flac|m4a)$/i, "audio"],
  [/\.table\.json$/i, "table"],
  [/\.curve\.json$/i, "curve"],
  [/\.csv$/i, "csv"],
  [
    /\.(txt|log|md|jsonl?|ya?ml|toml|ini|py|sh|c|cc|h|cpp|js|ts|html?|xml|svg|css|sql|r|tsv)$/i,
    "text",
  ],
];

export function kindOf(artifact: ShownFile): string {
  if (
    artifact.kind &&
    ["image", "table", "curve", "text"].includes(artifact.kind) &&
    !/\.(table|curve)\.json$/.test(artifact.path ?? "")
  ) {
    if (artifact.kind !== "table" && artifact.kind !== "curve") return artifact.kind;
  }
  return kEndings.find(([ending]) => ending.test(artifact.path ?? ""))?.[1] ?? "other";
}

// What a preview must know of a file, wherever its bytes come from.
export type ShownFile = Pick<Artifact, "path" | "size_bytes" | "digest" | "kind">;

export function Preview(props: {run: string; artifact: Artifact}) {
  return (
    <FilePreview url={artifactUrl(props.run, props.artifact.path ?? "")} file={props.artifact} />
  );
}

export function FilePreview(props: {url: string; file: ShownFile}) {
  const {url, file: artifact} = props;
  const kind = kindOf(artifact);
  if (kind === "image" || kind === "audio")
    return <Media url={url} kind={kind} artifact={artifact} />;
  if (kind === "other")
    return <Notice>{`${bytes(artifact.size_bytes)} without a preview: download it.`}</Notice>;
  return <TextPreview url={url} kind={kind} artifact={artifact} />;
}

function Media(props: {url: string; kind: string; artifact: ShownFile}) {
  const [source, setSource] = useState<{url?: string; error?: unknown}>({});
  const tooLarge = props.artifact.size_bytes > kMostMedia;
  useEffect(() => {
    if (tooLarge) return;
    const stop = new AbortController();
    let made = "";
    void (async () => {
      try {
        const answer = await fetch(props.url, {signal: stop.signal});
        if (!answer.ok) throw new Refused(answer.status, {});
        const blob = await answer.blob();
        made = URL.createObjectURL(
          new Blob([blob], {type: props.kind === "image" ? "image/*" : "audio/*"}),
        );
        setSource({url: made});
      } catch (error) {
        if (!stop.signal.aborted) setSource({error});
      }
    })();
    return () => {
      stop.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [props.url, props.kind, tooLarge]);
  if (tooLarge) return <Notice>{`It is larger than ${bytes(kMostMedia)}: download it.`}</Notice>;
  if (source.error) return <Trouble error={source.error} />;
  if (!source.url) return <Loading what={props.artifact.path ?? "the file"} />;
  return props.kind === "image" ? (
    <Picture url={source.url} name={props.artifact.path ?? ""} />
  ) : (
    <audio controls src={source.url} aria-label={props.artifact.path ?? ""} />
  );
}

const kSmall = 256; // pixels: below it a picture is shown larger than it is, by a whole number

function Picture(props: {url: string; name: string}) {
  const [size, setSize] = useState<[number, number] | null>(null);
  const by = size ? Math.max(1, Math.floor(kSmall / Math.max(...size, 1))) : 1;
  return (
    <figure className={css.picture}>
      <img
        className={css.image}
        src={props.url}
        alt={props.name}
        style={size ? {width: size[0] * by} : undefined}
        onLoad={({currentTarget: {naturalWidth, naturalHeight}}) =>
          setSize([naturalWidth, naturalHeight])
        }
      />
      <figcaption className="muted">
        {size && `${size[0]} × ${size[1]} pixels${by > 1 ? `, shown ${by} times as large` : ""}`}
      </figcaption>
    </figure>
  );
}

function TextPreview(props: {url: string; kind: string; artifact: ShownFile}) {
  const whole = props.artifact.size_bytes <= kMostText;
  const query = useQuery({
    queryKey: ["artifact", props.url, props.artifact.digest],
    queryFn: async ({signal}) => {
      if (whole) return fetchText(props.url, signal);
      const answer = await fetch(props.url, {signal, headers: {Range: `bytes=0-${kMostText - 1}`}});
      if (!answer.ok) throw new Refused(answer.status, {});
      return answer.text();
    },
  });
  if (query.error) return <Trouble error={query.error} />;
  if (query.data === undefined) return <Loading what={props.artifact.path ?? "the file"} />;
  const cut = whole ? null : (
    <Notice>{`The first ${bytes(kMostText)} of ${bytes(props.artifact.size_bytes)}.`}</Notice>
  );
  if (props.kind === "table" || props.kind === "csv" || props.kind === "curve") {
    const shown =
      props.kind === "csv" ? (
        <Rows {...fromCsv(query.data)} />
      ) : whole ? (
        fromJson(query.data, props.kind)
      ) : null;
    if (shown)
      return (
        <>
          {cut}
          {shown}
        </>
      );
  }
  return (
    <>
      {cut}
      <pre className={css.text} tabIndex={0}>
        {pretty(query.data, props.artifact.path ?? "")}
      </pre>
    </>
  );
}

function pretty(text: string, path: string): string {
  if (!path.endsWith(".json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function fromJson(text: string, kind: string) {
  try {
    const document = JSON.parse(text) as Partial<Tabular> & {
      x?: number[];
      y?: number[];
      name?: string;
    };
    if (kind === "curve" && Array.isArray(document.x) && Array.isArray(document.y))
      return <Curve {...document} />;
    if (Array.isArray(document.rows))
      return <Rows columns={document.columns ?? null} rows={document.rows} />;
  } catch {
    // Not what its name says: it is shown as text.
  }
  return null;
}

function cell(value: unknown): string {
  return typeof value === "number"
    ? short(value)
    : value == null
      ? ""
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
}

function Rows(props: Tabular) {
  const matrix = asMatrix(props);
  if (matrix) return <Matrix rows={matrix.rows} columns={matrix.names} />;
  return (
    <div className={css.scroll}>
      <table>
        {props.columns && (
          <thead>
            <tr>
              {props.columns.map((name, i) => (
                <th key={i}>{String(name)}</th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {props.rows.slice(0, kMostRows).map((row, i) => (
            <tr key={i}>
              {row.map((value, j) => (
                <td key={j} className={typeof value === "number" ? "number" : ""}>
                  {cell(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {props.rows.length > kMostRows && (
        <p className="muted">
          The first {kMostRows} of {props.rows.length} rows.
        </p>
      )}
    </div>
  );
}

const shade = (part: number) =>
  `color-mix(in srgb, var(--accent) ${Math.round(35 * part)}%, transparent)`;

// A square table of numbers is drawn as a confusion matrix: darker is more, within its row.
function Matrix(props: {rows: number[][]; columns: string[] | null}) {
  return (
    <div className={css.scroll}>
      <table className={css.matrix}>
        {props.columns && (
          <thead>
            <tr>
              <th>
                <span className="unseen">class</span>
              </th>{" "}
              {props.columns.map((name, i) => (
                <th key={i} className="number">
                  {String(name)}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {props.rows.map((row, i) => {
            const sum = row.reduce((a, b) => a + Math.max(0, b), 0) || 1;
            return (
              <tr key={i}>
                <th>{props.columns?.[i] ?? i}</th>
                {row.map((value, j) => (
                  <td
                    key={j}
                    className="number"
                    title={`${Math.round((100 * value) / sum)}% of its row`}
                    style={{background: shade(Math.max(0, value) / sum)}}
                  >
                    {short(value)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Curve(props: {x?: number[]; y?: number[]; name?: string}) {
  const pairs = (props.x ?? [])
    .map((x, i): [number, number] => [x, props.y?.[i] ?? NaN])
    .sort((a, b) => a[0] - b[0]);
  const x = pairs.map((pair) => pair[0]);
  const y = pairs.map((pair) => pair[1]);
  const name = props.name ?? "curve";
  return (
    <Chart
      title={name}
      height={320}
      series={[
        {
          id: name,
          label: name,
          slot: slots([name]).get(name) ?? {colour: 0, dash: 0},
          x,
          last: y,
          min: y,
          max: y,
          not_finite: [],
        },
      ]}
    />
  );
}
