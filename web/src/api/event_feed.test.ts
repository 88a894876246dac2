import {expect, test} from "vitest";

import {EventParser} from "./event_feed";

test("events come whole, however the stream is cut", () => {
  const stream = 'id: 4\ndata: {"seq":4}\n\n: \n\nevent: reset\nid: 9\ndata: {"seq":9}\n\n';
  for (let size = 1; size < stream.length; size += 1) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(...parser.push(stream.slice(at, at + size)));
    expect(found).toEqual([
      {event: "message", data: '{"seq":4}'},
      {event: "reset", data: '{"seq":9}'},
    ]);
  }
});
