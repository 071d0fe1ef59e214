import type { Failure, Tally } from './tally.ts'

/** More files than this that failed are no matter of a busy computer. */
const FILES_MAX = 12

/**
 * Runs the files with failed tests once more, when nothing runs beside them. A file in which nothing fails then was
 * unsteady: its tests count as passed, and are named with the reason of the first time.
 * @param tally What a stage came to.
 * @param run Runs the files given, one at a time.
 * @returns The tally as it was where too many files failed, or something failed that belongs to no file.
 */
export async function lookAgain(
  tally: Tally,
  run: (files: readonly string[]) => Promise<Tally>,
): Promise<Tally> {
  const files = [...new Set(tally.failed.map(({ file }) => file))]
  if (files.length === 0 || files.length > FILES_MAX || !files.every(file => file !== undefined)) return tally
  const again = await run(files)
  // What failed without a file says nothing good about any of them.
  const bad = (file: string | undefined) =>
    again.failed.some(failure => failure.file === undefined || failure.file === file)
  const unsteady: Failure[] = tally.failed.filter(({ file }) => !bad(file))
  return {
    ...tally,
    passed: tally.passed + unsteady.length,
    failed: tally.failed.filter(({ file }) => bad(file)),
    unsteady: [...(tally.unsteady ?? []), ...unsteady],
  }
}
