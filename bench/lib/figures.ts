/**
 * A quantile by the nearest rank.
 * @param values At least one.
 * @param part 0.5 is the median.
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** The median. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Prints one figure beside its floor and, where there is one, another program's; and its aim if it has one. */
export function printFigure(figure: {
  what: string
  ours: string
  peer?: string
  bare: string
  compared: string
  aim: { says: string; met: boolean } | null
}): void {
  const { what, ours, peer, bare, compared, aim } = figure
  const verdict = aim ? ` (aim ${aim.says}: ${aim.met ? 'met' : 'MISSED'})` : ''
  console.log(`${what}: ours ${ours}, ${peer ? `peer ${peer}, ` : ''}bare ${bare}: ${compared}${verdict}`)
}
