// What lies in a version: one file, or a directory.
import {bytes} from "../../lib/format";
import {Empty, Notice} from "../../ui/words";
import {FileList, StoredFiles} from "../stored_files";
import type {ModelVersion} from "./model";

export function ModelFiles(props: {version: ModelVersion}) {
  const {version} = props;
  if (!version.digest)
    return (
      <Empty title="Its files are not here">
        {version.location || version.source
          ? `They lie at ${version.location || version.source}.`
          : "Nobody said where they lie."}
      </Empty>
    );
  if (version.directory) return <StoredFiles manifest={version.digest} />;
  const path = version.file_name ?? "model";
  return (
    <div className="stack">
      <Notice>{`One file, ${bytes(version.size_bytes)}.`}</Notice>
      <FileList files={[{path, digest: version.digest, size_bytes: version.size_bytes}]} />
    </div>
  );
}
