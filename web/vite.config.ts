import {gzipSync} from "node:zlib";

import react from "@vitejs/plugin-react";
import {defineConfig, type Plugin} from "vite";

// The program sends `NAME.gz` to whoever takes gzip, so nothing is compressed while it serves.
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const [name, file] of Object.entries(bundle)) {
          if (!/\.(js|css)$/.test(name)) continue;
          const bytes = file.type === "chunk" ? file.code : file.source;
          this.emitFile({
            type: "asset",
            fileName: `${name}.gz`,
            source: gzipSync(bytes, {level: 9}),
          });
        }
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    manifest: "manifest.json",
    chunkSizeWarningLimit: 1000,
  },
  server: {
    // `npm run dev` beside a running server: HEARTH_URL names it.
    proxy: {
      "/api": {
        target: process.env.HEARTH_URL ?? "http://127.0.0.1:8470",
        changeOrigin: true,
        headers: {Origin: process.env.HEARTH_URL ?? "http://127.0.0.1:8470"},
      },
    },
  },
});
