// What a thing came from and what became of it, from left to right.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {Graph, layout} from "@dagrejs/dagre";
import {useMemo} from "react";

import {type Schemas, api, ask} from "../api/client";
import {Notice, Empty, Loading, Trouble} from "../ui/words";
import css from "./lineage.module.css";

type Node = Schemas["LineageNode"];

const kWide = 190;
const kHigh = 48;
const kMostDrawn = 300;

function addressOf(node: Node): {to: string; search: object} | null {
  const [name = "", version] = (node.name ?? "").split("@");
  switch (node.kind) {
    case "run":
      return {to: `/runs/${node.id}`, search: {}};
    case "model":
    case "dataset":
      return {to: `/${node.kind}s/${name}`, search: {project: node.project, version}};
    default:
      return null;
  }
}

// What tells it from others: a commit and a digest by their beginning, a path by its end.
function nameOf(node: Node): string {
  const id = (node.id ?? node.digest ?? "").replace(/^sha256:/, "");
  if (node.kind === "commit" || node.kind === "code") return id.slice(0, 12) || (node.name ?? "");
  if (node.kind === "path") return (node.name ?? "").split("/").slice(-2).join("/");
  return node.name || id.slice(0, 12);
}

function placed(nodes: Node[], edges: Schemas["LineageEdge"][]) {
  const graph = new Graph();
  graph.setGraph({rankdir: "LR", nodesep: 16, ranksep: 56, marginx: 8, marginy: 8});
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.key ?? "", {width: kWide, height: kHigh});
  for (const edge of edges) graph.setEdge(edge.from ?? "", edge.to ?? "");
  layout(graph);
  return graph;
}

export function LineageView(props: {thing: string; project?: string}) {
  const query = useQuery({
    queryKey: ["lineage", props.thing, props.project],
    queryFn: ({signal}) =>
      ask(
        api.GET("/api/v1/lineage", {
          params: {query: {thing: props.thing, project: props.project}},
          signal,
        }),
      ),
  });
  const drawn = useMemo(() => {
    const nodes = (query.data?.nodes ?? []).slice(0, kMostDrawn);
    const known = new Set(nodes.map((node) => node.key));
    const edges = (query.data?.edges ?? []).filter(
      (edge) => known.has(edge.from) && known.has(edge.to),
    );
    return {nodes, edges, graph: placed(nodes, edges)};
  }, [query.data]);
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="lineage" />;
  if (drawn.nodes.length < 2)
    return (
      <Empty title="Nothing is linked to it yet">
        What a run reads (datasets, code) and makes (models) is drawn here.
      </Empty>
    );
  const {width = 0, height = 0} = drawn.graph.graph();
  return (
    <div className="stack">
      {(query.data.cut || query.data.nodes!.length > kMostDrawn) && (
        <Notice kind="warn">{`There is more than is drawn: ${drawn.nodes.length} things.`}</Notice>
      )}
      <div className={css.scroll} tabIndex={0} role="group" aria-label="Lineage">
        <div className={css.all} style={{width, height}}>
          <svg width={width} height={height} aria-hidden className={css.edges}>
            {drawn.edges.map((edge) => {
              const points = drawn.graph.edge(edge.from ?? "", edge.to ?? "")?.points as
                {x: number; y: number}[] | undefined;
              return (
                points && (
                  <path key={`${edge.from} ${edge.to}`} d={curve(points)}>
                    <title>{edge.how}</title>
                  </path>
                )
              );
            })}
          </svg>
          {drawn.nodes.map((node) => {
            const at = drawn.graph.node(node.key ?? "");
            const to = addressOf(node);
            const inside = (
              <>
                <small className="muted">
                  {node.kind}
                  {node.state ? ` · ${node.state}` : ""}
                </small>
                <span className="cut">{nameOf(node)}</span>
              </>
            );
            const place = {
              left: at.x - kWide / 2,
              top: at.y - kHigh / 2,
              width: kWide,
              height: kHigh,
            };
            const mine = node.key === query.data.root ? `${css.node} ${css.root}` : css.node;
            return to ? (
              <Link
                key={node.key}
                to={to.to as never}
                search={to.search as never}
                className={mine}
                style={place}
                title={node.name}
              >
                {inside}
              </Link>
            ) : (
              <span key={node.key} className={mine} style={place} title={node.name || node.id}>
                {inside}
              </span>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function curve(points: {x: number; y: number}[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return "";
  const middle = (first.x + last.x) / 2;
  return `M${first.x},${first.y} C${middle},${first.y} ${middle},${last.y} ${last.x},${last.y}`;
}
