import { createHash } from 'node:crypto'
import { topup } from '@berth/contract/billing'
import { TEST_CARDS } from '../../src/drivers/payments/testcard/test-cards.ts'
import { type Customer, createCaller } from './caller.ts'
import type { Findings } from './findings.ts'
import { MACHINE_ACTS } from './machine-acts.ts'
import { MONEY_ACTS } from './money-acts.ts'
import type { Performer } from './performer.ts'
import type { Act, ActName, Disturbance, Plan } from './plan.ts'
import type { World } from './world.ts'

/** What each customer pays in first. */
const FIRST_CENTS = 40_000

const PERFORM: Record<ActName, (performer: Performer) => Promise<boolean>> = {
  ...MONEY_ACTS,
  ...MACHINE_ACTS,
}

/** What came of a run. */
export interface RunReport {
  /** How often each act came to something. */
  done: Map<ActName, number>
  /** Operations that were not begun before the time was over. */
  left: number
}

/**
 * Carries a plan out: workers take one act after the other, each for whichever customer it names, while gateways are
 * killed, the database ends and time moves on.
 * @param run.seed Part of every key, so that keys of one run are the same for the same seed.
 * @param run.wrong Gets what was answered or seen that may never be.
 * @param run.untilMs When nothing more is begun, by `performance.now`.
 */
export async function carryOut(
  world: World,
  plan: Plan,
  { seed, workers, wrong, untilMs }: { seed: number; workers: number; wrong: Findings; untilMs: number },
): Promise<RunReport> {
  const done = new Map<ActName, number>()
  const customers = new Map<number, Promise<Customer>>()
  const { ask, sendForm } = createCaller({ ...world, signIn: world.operator.signIn }, wrong)
  const coming = [...plan.disturbances]
  const underWay: Promise<void>[] = []
  let next = 0

  function customerOf(number: number): Promise<Customer> {
    const known = customers.get(number) ?? welcome(number)
    customers.set(number, known)
    return known
  }

  /** Signs one up, who begins with money: what they do is to cost something. */
  async function welcome(number: number): Promise<Customer> {
    const customer = await world.operator.signUp(`proof-${number}@example.org`)
    const [good] = TEST_CARDS
    const paid = { currency: 'USD' as const, platform_name: 'testcard', source: good?.number ?? '' }
    await ask(customer, topup, { body: { ...paid, amount: FIRST_CENTS } }, `${seed}-first-${number}`)
    return customer
  }

  async function perform(act: Act, index: number): Promise<void> {
    const customer = await customerOf(act.customer)
    let calls = 0
    const came = await PERFORM[act.name]({
      ...{ customer, operator: world.operator, dice: act.dice, wrong, sendForm },
      id: uuidOf(`${seed} ${index}`),
      ask: (call, input) => ask(customer, call, input, `${seed}-${index}-${calls++}`),
      loseMachine(id) {
        const runs = world.engine.held.get(id)?.status.state === 'running'
        if (runs) world.engine.lose(id)
        return runs
      },
    })
    if (came) done.set(act.name, (done.get(act.name) ?? 0) + 1)
  }

  async function work(): Promise<void> {
    while (performance.now() < untilMs) {
      const index = next++
      while (coming[0] && coming[0].after <= index) {
        // What was done is audited all the same.
        const failed = (error: unknown) => wrong.add(`after a disturbance: ${String(error)}`)
        underWay.push(disturb(world, coming.shift()).catch(failed))
      }
      const act = plan.acts[index]
      if (!act) return
      wrong.reached(index)
      try {
        await perform(act, index)
      } catch (error) {
        wrong.add(`${index} ${act.name} of customer ${act.customer}: ${String(error)}`)
      }
    }
  }

  await Promise.all(Array.from({ length: workers }, work))
  await Promise.all(underWay)
  return { done, left: Math.max(0, plan.acts.length - next) }
}

async function disturb(world: World, what: Disturbance | undefined): Promise<void> {
  if (what?.kind === 'kill') await world.kill(what.gateway, what.knownDead)
  if (what?.kind === 'database') world.endDatabase(what.how)
  if (what?.kind === 'time') world.clock.advance(what.seconds)
}

/** A uuid that is made of a text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
