import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { contractLocales } from './build/contract-locales-plugin.ts'
import { noJsonSchema } from './build/no-json-schema-plugin.ts'

export default defineConfig({
  plugins: [react(), contractLocales(), noJsonSchema()],
  // The gateway puts a fresh nonce in place of this word for every page that it serves.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2023',
    manifest: true,
    // The content policy has no `data:` for scripts or fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    // One style sheet in the head: a page's code that is loaded again after a lost packet (R2.9) would else come
    // without its styles, and the order of rules would depend on the order of clicks.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What every page needs, in one file: it compresses better than ten, and it outlives most releases.
            // zod-setup.ts must run before any schema is made, so it stands where zod stands.
            {
              name: 'base',
              test: /node_modules\/(?:react|react-dom|scheduler|zod|i18next|react-i18next|clsx)\/|\/app\/zod-setup\.ts$/,
            },
            // What both the sign-in page and the shell draw with, so that neither waits for twenty small files.
            {
              name: 'frame',
              test: /@mantine\/core\/esm\/(?:core|components\/(?:Button|UnstyledButton|Loader|Transition|ActionIcon|CloseButton))\/|contract\/src\/(?:limits|errors|call|envelope|fields|account|money)\.ts|console\/src\/(?:api\/(?!quer)|app\/(?!shell|zod-setup|router|ConsoleApp|GuestApp|guest\/|search)|ui\/(?:format|toast\.ts|Brand|Money|Error|Placeholder))/,
            },
            // The router is for the pages in the shell; signing in does without it.
            {
              name: 'router',
              test: /node_modules\/@tanstack\/(?:react-router|router-core|history|store|react-store)\//,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: { '/gateway': { target: 'http://127.0.0.1:8080', ws: true } },
  },
  preview: {
    proxy: { '/gateway': { target: 'http://127.0.0.1:8080', ws: true } },
  },
})
