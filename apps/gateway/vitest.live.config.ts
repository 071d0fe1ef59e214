import { defineConfig } from 'vitest/config'

/** Tests against servers that somebody else runs; `npm test` takes none of them. */
export default defineConfig({
  test: {
    name: 'live',
    root: new URL('../..', import.meta.url).pathname,
    include: ['apps/gateway/test/**/*.live.ts'],
    globalSetup: ['apps/gateway/test/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
})
