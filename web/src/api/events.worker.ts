// One event stream for all tabs of this browser: a browser opens six connections to a server, and
// a stream a tab would use them up. Tabs talk to it over their port.
import {EventFeed, type FromFeed} from "./event_feed";

interface Connecting extends Event {
  ports: readonly MessagePort[];
}

const ports = new Set<MessagePort>();
const feed = new EventFeed((message: FromFeed) => {
  for (const port of ports) port.postMessage(message);
});

self.addEventListener("connect", (event) => {
  const port = (event as Connecting).ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message: MessageEvent<string>) => {
    if (message.data === "wake") {
      ports.add(port); // it said bye, and came back out of the browser's page cache
      feed.wake();
    }
    if (message.data === "bye") ports.delete(port);
    if (ports.size === 0) feed.stop();
  };
  port.start();
  feed.start();
  port.postMessage(feed.state());
});
