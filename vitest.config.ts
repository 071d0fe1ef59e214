import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/test/longest-first.ts'
import { PATIENCE_MS } from './scripts/test/patience-ms.ts'

export default defineConfig({
  test: {
    // Only what hangs meets these, also on a computer that does much else.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: PATIENCE_MS } },
    setupFiles: ['scripts/test/patience.ts', 'scripts/test/stalls.ts'],
    pool: 'forks',
    // Many files mostly wait, for boots, machines and pauses: four at once left two cores idle for a quarter of a run.
    maxWorkers: 5,
    // Files share a process, and what they import is loaded once in it: what a file sets up it takes down itself.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: 'scripts', include: ['scripts/**/*.test.ts'] } },
      { test: { name: 'contract', include: ['packages/contract/**/*.test.ts'] } },
      { test: { name: 'console', include: ['apps/console/**/*.test.ts'] } },
      // A project of their own, so that they run one after the other: a process is given up where the next file wants
      // another environment, and the DOM and the components take two seconds to load.
      { test: { name: 'components', include: ['apps/console/**/*.test.tsx'], environment: 'jsdom' } },
      {
        test: {
          name: 'gateway',
          include: ['apps/gateway/**/*.test.ts'],
          execArgv: ['--import', './apps/gateway/test/quick-imports.ts'],
          // One PostgreSQL for all files; each file makes its own database in it.
          globalSetup: ['apps/gateway/test/global-setup.ts'],
        },
      },
    ],
  },
})
