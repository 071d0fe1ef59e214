/** A long run says how far it is so often. */
const SAID_EVERY_MS = 60_000
const LINE_CHARS_MAX = 4_000

/**
 * What a run of the books finds wrong, and how far it is: told at the moment, so that nothing is lost of a run that is
 * ended by somebody, and given again at the end.
 * @param total How many operations there are.
 * @param tell Gets each line, without its end.
 */
export function createFindings(total: number, tell: (line: string) => void) {
  const wrong: string[] = []
  const beganMs = performance.now()
  let saidMs = beganMs
  /** How often each operation was refused, by code. */
  const refusals = new Map<string, Map<string, number>>()

  return {
    /** Something that may never be, in a sentence. */
    add(sentence: string): void {
      wrong.push(sentence.slice(0, LINE_CHARS_MAX))
      tell(`WRONG after ${minutesSince(beganMs)}: ${sentence.slice(0, LINE_CHARS_MAX)}`)
    },

    /** That so many operations have begun. */
    reached(operations: number): void {
      if (performance.now() - saidMs < SAID_EVERY_MS) return
      saidMs = performance.now()
      tell(
        `${operations} of ${total} operations after ${minutesSince(beganMs)}, ${wrong.length} answers wrong.`,
      )
    },

    all: (): readonly string[] => wrong,

    /** That a call was refused, as it may be. */
    refused(operation: string, code: string): void {
      const codes = refusals.get(operation) ?? new Map<string, number>()
      refusals.set(operation, codes.set(code, (codes.get(code) ?? 0) + 1))
    },

    /** What was refused and how often, an operation a line. */
    refusals: (): string =>
      [...refusals]
        .map(
          ([operation, codes]) =>
            `${operation}: ${[...codes].map(([code, times]) => `${times} × ${code}`).join(', ')}`,
        )
        .sort()
        .join('\n'),
  }
}
export type Findings = ReturnType<typeof createFindings>

function minutesSince(beganMs: number): string {
  return `${((performance.now() - beganMs) / 60_000).toFixed(1)} minutes`
}
