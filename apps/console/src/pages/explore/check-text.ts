import type { Check } from '@berth/contract/instances'
import { formatImageSize } from '@berth/contract/sizes'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'

/**
 * The words of a check before a deploy, beside the button and at its field.
 * @param currency That of the wallet.
 * @param isTerm Whether a term is paid for in advance: all of it must be there then, not its first hour.
 */
export function useCheckText(currency: string, isTerm: boolean): (check: Check) => string {
  const { t } = useTranslation(['explore', 'errors', 'terms-of-payment'])
  const format = useFormat()
  return ({ code, values }) =>
    t([...keysOf(code, isTerm)], {
      ...values,
      needed: format.cents(Number(values.needed_cents ?? 0), currency),
      size: formatImageSize(Number(values.size_mb ?? 0)),
    })
}

/** Where the words of a check stand, the best first. */
function keysOf(code: string, isTerm: boolean) {
  return [
    `${isTerm ? 'terms-of-payment:' : ''}check.${code as 'balance_covers'}`,
    `check.${code as 'gpus_free'}`,
    `errors:rules.${code as 'required'}`,
  ] as const
}
