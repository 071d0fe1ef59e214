import type { Logger } from 'pino'
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.ts'
import type { EndedCall } from './allowance-book.ts'
import type { CallJournal } from './call-journal.ts'

export interface RecoverDeps {
  journal: Pick<CallJournal, 'left' | 'removeLeft' | 'reject'>
  log: Pick<Logger, 'error'>
  /** Writes down calls of one customer, all of them or none. */
  write(userId: string, ended: readonly EndedCall[]): Promise<unknown>
  /** Calls that are written down at once. */
  togetherMax: number
}

/**
 * Writes down what others have left in the data folder that were killed. What cannot be written down though the database is
 * there, such as a call of a customer whom it has none of, is put aside, and takes nothing else along.
 * @throws What the database says where it cannot answer now: what is left by then is there for the next time.
 */
export async function recoverCalls(deps: RecoverDeps): Promise<void> {
  const { journal, log, togetherMax } = deps
  for (const left of journal.left()) {
    const lines: (EndedCall | string)[] = [...left.odd]
    let reason: unknown
    for (const [userId, ended] of Map.groupBy(left.calls, call => call.userId)) {
      for (let at = 0; at < ended.length; at += togetherMax) {
        for (const failed of await writeSome(deps, userId, ended.slice(at, at + togetherMax))) {
          lines.push(failed.call)
          reason ??= failed.error
        }
      }
    }
    if (lines.length > 0) {
      const facts = { err: reason, file: left.file, calls: lines.length }
      if (!journal.reject(lines)) {
        log.error(
          facts,
          'calls of models can neither be written down nor put aside: they stay where they are',
        )
        continue
      }
      log.error(facts, 'calls of models that cannot be written down were put aside')
    }
    journal.removeLeft(left)
  }
}

/** @returns Those that cannot be written down, and why. @throws What the database says where it cannot answer now. */
async function writeSome(
  { write }: Pick<RecoverDeps, 'write'>,
  userId: string,
  some: readonly EndedCall[],
): Promise<{ call: EndedCall; error: unknown }[]> {
  try {
    await write(userId, some)
    return []
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
  }
  const failed: { call: EndedCall; error: unknown }[] = []
  for (const call of some) {
    try {
      await write(userId, [call])
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error
      failed.push({ call, error })
    }
  }
  return failed
}
