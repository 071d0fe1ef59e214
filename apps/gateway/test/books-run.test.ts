import { expect, test } from 'vitest'
import { carryOut } from './books-run/books-run.ts'
import { checkProof } from './books-run/check-proof.ts'
import { createFindings } from './books-run/findings.ts'
import { ACTS, type ActName, makePlan } from './books-run/plan.ts'
import { settle } from './books-run/settle.ts'
import { startWorld } from './books-run/world.ts'
import { triesOf } from './long-runs.ts'

/**
 * Goal: whatever many customers do at the same time, through whichever gateway, and whoever dies meanwhile, the
 * books, the payment platform, the machines and what was charged for agree to the micro-unit at the end (B1, B2, B3).
 * Method: a plan that a seed makes, carried out by eight workers over the API of three gateways in processes of their own,
 * which are killed, on a database that is ended; then all settles, and what is there is compared by an audit of its own.
 */

/** A customer for so many operations: fewer would leave each of them with too little to do at once. */
const PER_CUSTOMER = 25
const CUSTOMERS_MAX = 200
const WORKERS = 8
const GATEWAYS = 3
const OPERATIONS = triesOf('operations')
/** So many operations pass between two kills, and between two ends of the database. */
const PER_KILL = 250
const PER_RESTART = 500
/** A computer that does much else takes that long for one. */
const MS_PER_OPERATION = 600
/** What starting, settling and the audit may take beside the operations. */
const AROUND_MS = 240_000
/** Enough of them that each act came to something at least once. */
const ALL_ACTS_FROM = 5_000

test(
  '[B1] [B2] [B3] the books are true after random operations of many customers, kills and ends of the database',
  async () => {
    const seed = Number(process.env.BERTH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
    process.stdout.write(
      `The run of the books has the seed ${seed}: BERTH_TEST_SEED=${seed} makes its plan again.\n`,
    )
    const plan = makePlan(seed, {
      ...{
        acts: OPERATIONS,
        customers: Math.min(CUSTOMERS_MAX, Math.ceil(OPERATIONS / PER_CUSTOMER)),
        gateways: GATEWAYS,
      },
      kills: Math.ceil(OPERATIONS / PER_KILL),
      restarts: Math.ceil(OPERATIONS / PER_RESTART),
    })
    const wrong = createFindings(OPERATIONS, line => process.stdout.write(`${line}\n`))
    const untilMs = performance.now() + AROUND_MS / 2 + OPERATIONS * MS_PER_OPERATION
    const world = await startWorld(GATEWAYS)
    try {
      const { done, left } = await carryOut(world, plan, { seed, workers: WORKERS, wrong, untilMs })
      process.stdout.write(`${OPERATIONS - left} of ${OPERATIONS} operations were made; now all settles.\n`)
      if (OPERATIONS >= ALL_ACTS_FROM) process.stdout.write(`Refused:\n${wrong.refusals()}\n`)
      const problems = [...wrong.all(), ...(await settle(world))]
      // What was done is audited all the same.
      if (left > 0) problems.push(`${left} of ${OPERATIONS} operations were not begun in time`)
      const { db, gateway } = world.operator
      problems.push(...(await foundBy('the check of the books', () => gateway.billing.checkBooks())))
      problems.push(...(await foundBy('the audit', () => checkProof(db, world.engine))))
      // As one text: the summary of a run shows no elements of an array.
      expect(problems.join('\n'), `seed ${seed}\n`).toBe('')
      const never = (Object.keys(ACTS) as ActName[]).filter(name => !done.has(name))
      if (OPERATIONS >= ALL_ACTS_FROM) expect(never, `seed ${seed}\n${wrong.refusals()}\n`).toEqual([])
    } finally {
      await world.stop()
    }
  },
  AROUND_MS + OPERATIONS * MS_PER_OPERATION,
)

/** What somebody finds. One that fails hides nothing of what others have found, and what they did goes into the log. */
async function foundBy(name: string, look: () => Promise<string[]>): Promise<string[]> {
  const startedMs = performance.now()
  const found = await look().catch(error => [`${name} could not be made: ${error}, ${error.cause}`])
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  process.stdout.write(`${name} took ${seconds} s and found ${found.length} faults.\n`)
  return found
}
