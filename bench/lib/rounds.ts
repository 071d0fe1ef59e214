import { median, printFigure, quantile } from './figures.ts'
import type { GatewayProcess } from './gateway-process.ts'

/** What ours and a bare one of the same took, in ms, round by round. */
export interface Rounds {
  ours: number[]
  bare: number[]
}

/** Takes one round of a thing, and gives how long it took in ms. */
type Round = (round: number) => Promise<number>

/**
 * Takes ours and the bare one in turns. The first round of each warms it up and is not counted.
 * @param rounds How many are counted.
 * @param words What a line about each round calls the two; left out for no lines.
 */
export async function inTurns(
  rounds: number,
  measure: { ours: Round; bare: Round; words?: { ours: string; bare: string } },
): Promise<Rounds> {
  const { words } = measure
  const all: Rounds = { ours: [], bare: [] }
  for (let round = 0; round <= rounds; round++) {
    const ours = await measure.ours(round)
    const bare = await measure.bare(round)
    if (round === 0) continue
    all.ours.push(ours)
    all.bare.push(bare)
    if (!words) continue
    console.log(`round ${round}: ${words.ours} ${ours.toFixed(0)} ms, ${words.bare} ${bare.toFixed(0)} ms`)
  }
  return all
}

/**
 * Prints how much longer ours takes, by the medians.
 * @param figure.more What else is to be known of ours.
 */
export function printOverhead(figure: { what: string; rounds: Rounds; aimMs: number; more?: string }): void {
  const { what, rounds, aimMs, more } = figure
  const [ours, bare] = [median(rounds.ours), median(rounds.bare)]
  const overhead = ours - bare
  const told = (values: number[], more = '') =>
    `${median(values).toFixed(0)} ms (p90 ${quantile(values, 0.9).toFixed(0)}${more})`
  printFigure({
    what: `${what}, median`,
    ours: told(rounds.ours, more && `; ${more}`),
    bare: told(rounds.bare),
    compared: `overhead ${overhead.toFixed(0)} ms, ratio ${(ours / bare).toFixed(2)}`,
    aim: { says: `overhead under ${aimMs} ms`, met: overhead < aimMs },
  })
}

/**
 * Deploys an instance, and removes it again.
 * @param options.part More of the form.
 * @param options.pauseMs Between two looks at whether it runs.
 * @param options.ready What belongs to the time as well once it runs.
 * @param options.before What is done before it is removed, and is not timed.
 * @returns From the call until it ran and was ready, in ms.
 */
export async function timeDeploy(
  gateway: GatewayProcess,
  options: {
    part?: Parameters<GatewayProcess['deploy']>[0]
    pauseMs?: number
    ready?(id: string): Promise<void>
    before?(id: string): Promise<void>
  } = {},
): Promise<number> {
  const startedAt = performance.now()
  const id = await gateway.deploy(options.part)
  await gateway.until(id, 'running', options.pauseMs)
  await options.ready?.(id)
  const took = performance.now() - startedAt
  await options.before?.(id)
  await gateway.terminate(id)
  return took
}
