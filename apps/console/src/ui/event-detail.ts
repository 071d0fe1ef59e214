import { INSTANCE_REASON_CODES } from '@berth/contract/instance-codes'
import type { TFunction } from 'i18next'

/** As the gateway writes how a machine or its start command ended. */
const EXIT = /^exit code (\d+)(?:, (\d+) times)?$/
/** As it writes why an instance failed: a reason, and perhaps the engine's own words. */
const FAILURE = /^([a-z_]+)(?:: (.*))?$/s

/** A moment, such as the one at which something ends. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** What shells mean by a code. */
const MEANINGS = { 126: 'not_run', 127: 'missing' } as const
const REASONS: ReadonlySet<string> = new Set(INSTANCE_REASON_CODES)

/** The second line of an event of an instance. */
export interface EventDetail {
  /** In the interface's language, or somebody's own words; empty for nothing. */
  words: string
  /** What an engine said, in English; empty for nothing. */
  technical: string
}

/**
 * Says in the interface's language what it can of an event's or a reason's detail.
 * @param detail As the gateway gives it: an exit code, why something failed, a name, or an engine's own words.
 * @param of What the detail is of: an event's code, or `reason` for one of an instance's reason.
 * @param t Reads the common texts and those of events.
 * @param moment Writes a moment.
 */
export function eventDetail(
  detail: string,
  of: string,
  t: TFunction<['common', 'events']>,
  moment: (iso: string) => string,
): EventDetail {
  if (MOMENT.test(detail)) return { words: moment(detail), technical: '' }
  const [found, code = '', times] = EXIT.exec(detail) ?? []
  if (found !== undefined) {
    const what = t(`common:exit.${MEANINGS[Number(code) as keyof typeof MEANINGS] ?? 'code'}`, { code })
    return { words: times === undefined ? what : t('common:exit.often', { what, times }), technical: '' }
  }
  if (of === 'out_of_memory') return { words: `${detail}×`, technical: '' }
  if (of === 'reason' || of.startsWith('guest_')) return { words: '', technical: detail }
  const [, reason = '', said = ''] = FAILURE.exec(detail) ?? []
  if (of !== 'failed' || !REASONS.has(reason)) return { words: detail, technical: '' }
  return { words: t(`events:reason.${reason as 'exited'}`, { defaultValue: reason }), technical: said }
}
