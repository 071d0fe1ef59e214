import { type Figures, meanOf } from './figures.ts'
import type { SampleRow } from './sample-store.ts'
import type { Stretch } from './steps.ts'

/**
 * Puts rows into the steps of a stretch.
 * @param rows In any order, and of any fineness: finer ones than a step are averaged, and a coarser one stands for each of
 *   its steps that has nothing finer.
 * @returns For each step what was used in it; null where nobody sampled.
 */
export function figuresByStep(
  rows: readonly SampleRow[],
  { from, step, steps }: Stretch,
): (Figures | null)[] {
  const fine: SampleRow[][] = Array.from({ length: steps }, () => [])
  const coarse: (SampleRow | undefined)[] = new Array(steps)
  for (const row of rows) {
    const first = Math.floor((row.at.getTime() / 1000 - from) / step)
    if (row.step <= step) fine[first]?.push(row)
    else
      for (let slot = Math.max(0, first); slot < Math.min(steps, first + row.step / step); slot++)
        coarse[slot] = row
  }
  return fine.map((own, slot) => (own.length > 0 ? meanOf(own) : (coarse[slot] ?? null)))
}
