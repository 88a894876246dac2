import "uplot/dist/uPlot.min.css";
import "./app/base.css";

import {QueryClientProvider} from "@tanstack/react-query";
import {RouterProvider} from "@tanstack/react-router";
import {StrictMode} from "react";
import {createRoot} from "react-dom/client";

import {listen} from "./api/live";
import {queryClient, whoami} from "./app/queries";
import {router} from "./app/router";

// What every view needs comes beside the view's own script; and the events before what views ask
// for, which then need not be asked for again.
if (location.pathname !== "/sign-in") {
  void queryClient.prefetchQuery(whoami());
  listen(queryClient);
}

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
