import type { TFunction } from 'i18next'

/** As the gateway writes how a machine or its start command ended. */
const EXIT = /^exit code (\d+)(?:, (\d+) times)?$/

/** What shells mean by a code. */
const MEANINGS = { 126: 'not_run', 127: 'missing' } as const

/**
 * The second line of an event of an instance.
 * @param detail As the gateway gives it: an exit code, which is said in the interface's language, or somebody's own words.
 * @param t Reads the common texts.
 */
export function eventDetail(detail: string, t: TFunction<'common'>): string {
  const [found, code, times] = EXIT.exec(detail) ?? []
  if (found === undefined || code === undefined) return detail
  const what = t(`exit.${MEANINGS[Number(code) as keyof typeof MEANINGS] ?? 'code'}`, { code })
  return times === undefined ? what : t('exit.often', { what, times })
}
