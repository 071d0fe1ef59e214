import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Test files are processes of their own. Two fit a small machine beside the PostgreSQL that they use.
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      { test: { name: 'scripts', include: ['scripts/**/*.test.ts'] } },
      { test: { name: 'contract', include: ['packages/contract/**/*.test.ts'] } },
      { test: { name: 'console', include: ['apps/console/**/*.test.{ts,tsx}'] } },
      {
        test: {
          name: 'gateway',
          include: ['apps/gateway/**/*.test.ts'],
          // One PostgreSQL for all files; each file makes its own database in it.
          globalSetup: ['apps/gateway/test/global-setup.ts'],
        },
      },
    ],
  },
})
