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
  {
    what: 'a key of the ledger stands for transfers of several kinds',
    file: 'apps/gateway/src/domains/billing/ledger/ledger.ts',
    from: '    row.kind === kind &&\n',
    to: '',
    tests: ['ledger/ledger.test'],
  },
  {
    what: 'a lot of credits ends a moment after its end',
    file: 'apps/gateway/src/domains/billing/credits/lots.ts',
    from: 'endsAt !== null && endsAt <= now',
    to: 'endsAt !== null && endsAt < now',
    tests: ['credits/lots.test'],
  },
  {
    what: 'what was let go is let go again',
    file: 'apps/gateway/src/domains/billing/meters/holds.ts',
    from: '.where(and(ofSubject(walletHold, { userId, subject }), isNull(walletHold.releasedAt)))\n    .returning()',
    to: '.where(ofSubject(walletHold, { userId, subject }))\n    .returning()',
    tests: ['credits/lots.test'],
  },
  {
    what: 'what is due near the floor is not posted before something is let go',
    file: 'apps/gateway/src/domains/billing/meters/holds.ts',
    from: '  else await postNearFloor(tx, deps, userId)\n',
    to: '',
    tests: ['meters/metering.test'],
  },
  {
    what: 'a tick looks at the first customers alone',
    file: 'apps/gateway/src/domains/billing/meters/tick.ts',
    from: 'if (after === null || signal?.aborted) return { exhausted }',
    to: 'if (after !== undefined || signal?.aborted) return { exhausted }',
    tests: ['meters/tick.test'],
  },
  {
    what: 'a document counts a posting beside it twice',
    file: 'apps/gateway/src/domains/billing/documents/used.ts',
    from: "{ isolationLevel: 'repeatable read', accessMode: 'read only' }",
    to: "{ accessMode: 'read only' }",
    tests: ['documents/used.test'],
  },
  {
    what: "a row stands twice in a bill's file where a page ends",
    file: 'apps/gateway/src/domains/billing/documents/used.ts',
    from: '(d.day, d.interval_id) > (',
    to: '(d.day, d.interval_id) >= (',
    tests: ['documents/bill-routes.test'],
  },
  {
    what: "a month's invoice leaves out what was not posted when it ended",
    file: 'apps/gateway/src/domains/billing/documents/invoices/usage-invoices.ts',
    from: '  await postAll(tx, deps, userId)\n',
    to: '',
    tests: ['invoices/invoices.test'],
  },
  {
    what: 'what a bank took back counts as paid for a coupon',
    file: 'apps/gateway/src/domains/billing/credits/coupons.ts',
    from: 'paymentIntent.disputedCents',
    to: 'paymentIntent.disputesWonCents',
    tests: ['credits/coupons.test'],
  },
  {
    what: "one platform moves another's payments",
    file: 'apps/gateway/src/domains/billing/payments/events.ts',
    from: ', eq(paymentIntent.platformName, platformName)))\n  return row ?? null',
    to: '))\n  return row ?? null',
    tests: ['payments/platform-events.test'],
  },
  {
    what: 'auto top-up does not look again under the lock',
    file: 'apps/gateway/src/domains/billing/payments/auto-topup/rounds.ts',
    from: '    if (!isBelow(await readTotals(tx, deps.clock, userId), row)) return null\n',
    to: '',
    tests: ['auto-topup/limits.test'],
  },
  {
    what: "whoever makes a card the default takes it from everybody's",
    file: 'apps/gateway/src/domains/billing/payments/methods/methods.ts',
    from: 'set({ isDefault: false }).where(isSavedOf(userId))',
    to: "set({ isDefault: false }).where(eq(paymentMethod.state, 'saved'))",
    tests: ['methods/charging.test'],
  },
  {
    what: 'what is disputed is refunded as well',
    file: 'apps/gateway/src/domains/billing/payments/refund-requests.ts',
    from: ' - (disputedCents - disputesWonCents) - open',
    to: ' - 0 * (disputedCents - disputesWonCents) - open',
    tests: ['payments/refund-limits.test'],
  },
  {
    what: 'a top-up before posting pays what an empty wallet owed',
    file: 'apps/gateway/src/domains/billing/payments/intents.ts',
    from: '  await postAll(tx, deps, userId)\n',
    to: '',
    tests: ['ledger/wallet.test'],
  },
  {
    what: 'a payment event that names another payment of the platform is believed',
    file: 'apps/gateway/src/domains/billing/payments/intents.ts',
    from: 'if (row.platformIntentId !== null && told.intent_id !== null && row.platformIntentId !== told.intent_id) {',
    to: 'if (row.platformIntentId === undefined) {',
    tests: ['payments/platform-events.test'],
  },
  {
    what: 'a budget that is raised tells nothing of its new amount',
    file: 'apps/gateway/src/domains/budgets/budgets.ts',
    from: 'if (began.getTime() === since.getTime() && passed',
    to: 'if (began.getTime() === since.getTime() || passed',
    tests: ['budgets/budgets.test'],
  },
  {
    what: 'an invoice has a line of one kind of usage',
    file: 'apps/gateway/src/domains/billing/documents/invoices/usage-invoices.ts',
    from: '      sum += micro\n',
    to: '',
    tests: ['invoices/invoices.test'],
  },
  {
    what: 'a card is refused in its last month',
    file: 'apps/gateway/src/domains/billing/payments/methods/stored.ts',
    from: 'Date.UTC(expiryYear, expiryMonth) <=',
    to: 'Date.UTC(expiryYear, expiryMonth - 1) <=',
    tests: ['methods/methods.test'],
  },
  {
    what: 'a webhook that is dated ahead is believed',
    file: 'apps/gateway/src/drivers/payments/testcard/testcard-signature.ts',
    from: 'Math.abs(now.getTime() / 1_000 - seconds)',
    to: 'now.getTime() / 1_000 - seconds',
    tests: ['testcard/testcard-driver.test'],
  },
  {
    what: 'a webhook of Stripe that is dated ahead is believed',
    file: 'apps/gateway/src/drivers/payments/stripe/stripe-events.ts',
    from: 'signedAtS(header) - now / 1_000 <=',
    to: 'signedAtS(header) - now <=',
    tests: ['stripe/stripe-driver.test'],
  },
  {
    what: 'of a hold that was used in part all is let go',
    file: 'apps/gateway/src/domains/billing/meters/holds.ts',
    from: 'released.amountMicro - released.usedMicro',
    to: 'released.amountMicro + 0n * released.usedMicro',
    tests: ['ledger/wallet.test'],
  },
  {
    what: 'what is owed is paid in one part alone',
    file: 'apps/gateway/src/domains/billing/payments/refunds.ts',
    from: 'repaidMicro: repaidMicro + amountMicro',
    to: 'repaidMicro: amountMicro',
    tests: ['payments/refunds.test'],
  },
  {
    what: 'one event that cannot be booked is read again for ever, with all that came after it',
    file: 'apps/gateway/src/domains/billing/payments/events.ts',
    from: "await setAside(deps, driver.name, event, { via: 'list', error })\n      return true",
    to: 'return deps.payments.length < 0',
    tests: ['payments/set-aside.test'],
  },
  {
    what: 'a first top-up that went back as a whole earns a coupon',
    file: 'apps/gateway/src/domains/billing/credits/coupons.ts',
    from: ' && paid.cents > 0',
    to: '',
    tests: ['credits/coupons.test'],
  },
  {
    what: "a budget's month is that of the computer",
    file: 'apps/gateway/src/domains/budgets/periods.ts',
    from: 'now.getUTCMonth(), now.getUTCDate()',
    to: 'now.getMonth(), now.getUTCDate()',
    tests: ['repo-rules.test'],
  },
  {
    what: 'a term that ends early costs no more than its part of the price',
    file: 'apps/gateway/src/domains/billing/meters/charges.ts',
    from: 'if (!usedRate || costOf(usedRate, elapsedMs) <= costOf(own, elapsedMs)) return',
    to: 'if (usedRate !== null) return',
    tests: ['year-of-billing.test'],
  },
  {
    what: 'what a stretch leaves over is lost to the next one',
    file: 'apps/gateway/src/domains/billing/meters/metering.ts',
    from: 'carriedParts: await takeRest(tx, userId)',
    to: 'carriedParts: 0n * (await takeRest(tx, userId))',
    tests: ['year-of-billing.test'],
  },
  {
    what: 'a restart that was overtaken is held against the next start',
    file: 'apps/gateway/src/domains/instances/act/actions.ts',
    from: '      restartsDone: row.restartsAsked,\n',
    to: '',
    tests: ['reconcile/faults.test'],
  },
]
