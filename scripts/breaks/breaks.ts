/** One thing that is broken on purpose, and the tests that must notice. */
export interface Break {
  /** What no longer holds. */
  what: string
  /** The file that is changed, from the root. */
  file: string
  /** Stands in the file exactly once. */
  from: string
  to: string
  /** Parts of the names of the test files that are run. */
  tests: readonly string[]
}

/**
 * Rules whose breaking went unnoticed once, and some on which much depends. Each must make a test fail that runs without
 * a browser; walks are broken by hand.
 */
export const BREAKS: readonly Break[] = [
  {
    what: 'a call waits as long as any other, not the time of its own class',
    file: 'apps/console/src/api/request.ts',
    from: 'CALL_TIMEOUT_MS)[call.timeout]',
    to: 'CALL_TIMEOUT_MS).normal',
    tests: ['api/request.test'],
  },
  {
    what: 'a call is tried again at once',
    file: 'apps/console/src/api/request.ts',
    from: 'deps.retryDelayMs ?? RETRY_DELAY_MS',
    to: 'deps.retryDelayMs ?? 1',
    tests: ['api/request.test'],
  },
  {
    what: 'a change of page also cancels what outlives it',
    file: 'apps/console/src/api/request.ts',
    from: 'if (!call.outlivesNavigation) inFlight.add(abort)',
    to: 'inFlight.add(abort)',
    tests: ['api/request.test'],
  },
  {
    what: 'the company of the session is always the same',
    file: 'apps/console/src/app/session/session-storage.ts',
    from: 'encodeURIComponent(user.id), kept',
    to: "'berth', kept",
    tests: ['session-storage.test'],
  },
  {
    what: 'the menu has no billing',
    file: 'apps/console/src/app/shell/menu.ts',
    from: `  {
    heading: 'billing',
    entries: [
      { path: '/payments', icon: IconCreditCard },
      { path: '/bill-details', icon: IconReceipt },
    ],
  },
`,
    to: '',
    tests: ['app/pages.test'],
  },
  {
    what: 'an amount is rounded down where it is shown',
    file: 'packages/contract/src/money.ts',
    from: 'const half = step / 2n',
    to: 'const half = 0n',
    tests: ['contract/src/money.test'],
  },
  {
    what: 'each part is rounded by itself beside its sum',
    file: 'packages/contract/src/money.ts',
    from: 'formatPart(part, roundedSteps(sum, places) - before, currency, places)',
    to: 'formatPart(part, roundedSteps(part, places) + 0n * before, currency, places)',
    tests: ['contract/src/money.test'],
  },
  {
    what: 'an unknown name is answered without the work of a password',
    file: 'apps/gateway/src/domains/identity/passwords/passwords.ts',
    from: 'const against = stored ?? (await nobodysHash())',
    to: "const against = stored ?? ''\n      if (stored === null) return false",
    tests: ['login-throttle.test'],
  },
  {
    what: 'parts of a second at the end of a stretch are nobody’s',
    file: 'apps/gateway/src/domains/billing/meters/metering.ts',
    from: 'carriedParts: await takeRest(tx, userId),',
    to: 'carriedParts: 0n * (await takeRest(tx, userId)),',
    tests: ['meters/metering.test'],
  },
  {
    what: 'a command that ends every second fills the events',
    file: 'apps/gateway/src/domains/instances/reconcile/transitions.ts',
    from: 'const COMMAND_TOLD_MS = 3_600_000',
    to: 'const COMMAND_TOLD_MS = 0',
    tests: ['reconcile/lifecycle.test'],
  },
  {
    what: 'an instance that was to stop with its command is started again by the next gateway',
    file: 'apps/gateway/src/domains/instances/reconcile/plan.ts',
    from: "      if (observed.state === 'stopped' && observed.cause === 'command_ended') return markExited(observed)\n",
    to: '',
    tests: ['reconcile/plan.test'],
  },
]
