import { test as base } from '@playwright/test'
import { type Gateway, startGateway } from './gateway.ts'

/**
 * A test of a walk that needs no gateway of its own: one gateway serves all of these, and each signs up a customer of
 * its own. The demo customer's link works once, and belongs to `shell.spec.ts`. Who mistypes passwords again and again
 * starts another gateway, since a network that does so is asked for a captcha.
 */
export const test = base.extend<object, { gateway: Gateway }>({
  gateway: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern what a fixture needs.
    async ({}, use) => {
      const gateway = await startGateway()
      await use(gateway)
      await gateway.stop()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
})
