// The files of a version (of a dataset, or of a model that is a directory): a list to search in,
// and the one that is chosen. Their names and digests are an object, each file is another.
import {useQuery} from "@tanstack/react-query";

import {text} from "../api/client";
import {useView} from "../app/search";
import {bytes, count} from "../lib/format";
import {Empty, Loading, Notice, Trouble} from "../ui/words";
import {FilePreview} from "./artifact";
import css from "./artifacts.module.css";

export interface StoredFile {
  path: string;
  digest: string;
  size_bytes: number;
}

const kMostFiles = 100_000; // of a list that is fetched whole
const kMostShown = 500;

export const objectUrl = (digest: string): string => `/api/v1/objects/${digest}`;

export function StoredFiles(props: {manifest: string; count?: number; inPlace?: string}) {
  const tooMany = (props.count ?? 0) > kMostFiles;
  const query = useQuery({
    queryKey: ["objects", props.manifest],
    enabled: !tooMany,
    staleTime: Infinity, // its name is its digest
    queryFn: async ({signal}) => {
      const manifest = JSON.parse(await text(objectUrl(props.manifest), signal)) as {
        files?: StoredFile[];
      };
      return manifest.files ?? [];
    },
  });
  if (tooMany)
    return (
      <Empty title={`${count(props.count ?? 0)} files`} command="hearth dataset show NAME@VERSION">
        They are too many to list here; the command line does.
      </Empty>
    );
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="files" />;
  return <FileList files={query.data} inPlace={props.inPlace} />;
}

export function FileList(props: {files: StoredFile[]; inPlace?: string}) {
  const {files} = props;
  const [view, change] = useView();
  const wanted = (view.file ?? "").toLowerCase();
  const found = files.filter((one) => one.path.toLowerCase().includes(wanted));
  const chosen = files.find((one) => one.path === view.open) ?? found[0];
  if (files.length === 0) return <Empty title="No file is in it" />;
  return (
    <div className={css.files}>
      <div className={css.list}>
        {files.length > 8 && (
          <input
            type="search"
            data-filter
            aria-label="Find a file"
            placeholder={`Find one of ${count(files.length)}`}
            value={view.file ?? ""}
            onChange={(event) => change({file: event.target.value || undefined}, "replace")}
          />
        )}
        <ul>
          {found.slice(0, kMostShown).map((one) => (
            <li key={one.path}>
              <button
                type="button"
                className={css.file}
                aria-pressed={one === chosen}
                title={one.path}
                onClick={() => change({open: one.path}, "replace")}
              >
                <span className="cut grow">{one.path}</span>
                <span className="muted">{bytes(one.size_bytes)}</span>
              </button>
            </li>
          ))}
        </ul>
        {found.length > kMostShown && (
          <p className="muted">
            The first {kMostShown} of {count(found.length)}: search for others.
          </p>
        )}
        {found.length === 0 && <p className="muted">No file is called so.</p>}
      </div>
      {chosen && <Chosen file={chosen} inPlace={props.inPlace} />}
    </div>
  );
}

function Chosen(props: {file: StoredFile; inPlace?: string}) {
  const {file, inPlace} = props;
  const url = objectUrl(file.digest);
  return (
    <section className={css.preview} aria-label={file.path}>
      <div className="row wrap">
        <h2 className="cut" title={file.path}>
          {file.path}
        </h2>
        <span className="muted">{bytes(file.size_bytes)}</span>
        <span className="grow" />
        {!inPlace && (
          <a className="button" href={url} download={file.path.split("/").at(-1)}>
            Download
          </a>
        )}
      </div>
      {inPlace ? (
        <Notice>{`It stays on the machine: ${inPlace}/${file.path}`}</Notice>
      ) : (
        <FilePreview key={file.digest} url={url} file={file} />
      )}
      <p className="muted cut" title={file.digest}>
        <code>{file.digest}</code>
      </p>
    </section>
  );
}
