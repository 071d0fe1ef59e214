import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { contractLocales } from './build/contract-locales-plugin.ts'
import { customerDocs } from './build/customer-docs-plugin.ts'
import { hashedFirstPaint } from './build/first-paint-plugin.ts'
import { noJsonSchema } from './build/no-json-schema-plugin.ts'
import { pageParts } from './build/page-parts-plugin.ts'

export default defineConfig({
  plugins: [react(), contractLocales(), customerDocs(), noJsonSchema(), hashedFirstPaint(), pageParts()],
  // The gateway puts a fresh nonce in place of this word for every page that it serves.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: {
    alias: {
      // What it is for browsers asks the document, which the worker that reads Markdown has none of.
      'decode-named-character-reference': fileURLToPath(
        import.meta.resolve('decode-named-character-reference'),
      ),
    },
  },
  // What reads answers loads what draws formulas with the first one.
  worker: { format: 'es' },
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
              test: /@mantine\/core\/esm\/(?:core|components\/(?:Button|UnstyledButton|Loader|Transition|ActionIcon|CloseButton|Input|InputBase|TextInput))\/|@mantine\/hooks\/esm\/(?:use-id|use-merged-ref|use-uncontrolled|utils)\/|@tabler\/icons-react\/dist\/esm\/(?:createReactComponent|defaultAttributes|icons\/IconAlertTriangle)|contract\/src\/(?:limits|errors|call|envelope|fields|account|money|regions)\.ts|console\/src\/(?:api\/(?!quer|instances-query|change-many)|app\/(?!shell|zod-setup|router|way-to|ConsoleApp|GuestApp|guest\/|search|session\/ConfirmSignIn)|ui\/(?:format|toast\.ts|Brand|Money|Error|Placeholder))/,
            },
            // The router, the queries and what most pages in the shell draw with; signing in does without them.
            {
              name: 'shell-parts',
              test: /node_modules\/@tanstack\/(?!react-virtual|virtual-core)|@mantine\/core\/esm\/components\/Skeleton\/|@mantine\/hooks\/esm\/use-debounced|contract\/src\/(?:instances|instance-states|instance-codes|billing)\.ts|console\/src\/(?:api\/(?:quer|instances-query|use-change)|app\/search|lists\/(?:List|ListBar|use-filters)\.|app\/shell\/(?:menu|SideMenu|AvatarButton)|ui\/(?:Card|EmptyState|PageHeader|RowTable|SegmentedFilter|SkeletonRows|StatusBadge))/,
            },
            // A file each would be a request each, and a line each in the list of files that the sign-in page loads; without
            // those of that page itself.
            {
              name: 'icons',
              test: /@tabler\/icons-react\/dist\/esm\/icons\/Icon(?!AlertTriangle\.|BrandGithub\.|Eye(?:Off)?\.|Key\.)/,
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
