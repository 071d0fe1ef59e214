import type { Balance } from '@berth/contract/billing'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'

/** Beyond this a clock time says nothing any more; the span in days does. */
const CLOCK_UP_TO_S = 60 * 86_400
/** Stands where the emphasised part goes; no language has it in a sentence. */
const MARK = '\u0000'

/** What everything costs together, and until when the balance lasts (B4). */
export function BurnLine({ balance }: { balance: Balance | undefined }) {
  const { t } = useTranslation('instances')
  const format = useFormat()
  // Keeps the line's height, so that nothing moves when the answer comes.
  if (!balance) return '\u00a0'
  const { currency, burn_micro_per_hour, lasts_seconds } = balance
  if (BigInt(burn_micro_per_hour) === 0n) return t('burn.nothing')
  const [before, after] = t('burn.rate', { amount: MARK }).split(MARK)
  return (
    <>
      {before}
      <strong>{t('burn.an_hour', { amount: format.money(burn_micro_per_hour, currency) })}</strong>
      {after}
      {lasts_seconds !== null && ` · ${lasts(lasts_seconds)}`}
    </>
  )

  function lasts(seconds: number): string {
    if (seconds <= 0) return t('burn.used_up')
    if (seconds > CLOCK_UP_TO_S) return t('burn.lasts', { span: format.runway(seconds) })
    return t('burn.lasts_until', { moment: format.weekdayMoment(new Date(Date.now() + seconds * 1_000)) })
  }
}
