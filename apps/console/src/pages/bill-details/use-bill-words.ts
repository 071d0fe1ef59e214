import type { BillLine, BillStretch } from '@berth/contract/bills'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { bytesText } from '../../ui/bytes.ts'
import { useFormat } from '../../ui/format.ts'

/** An hour's seconds, for rates that are said by the hour. */
const HOUR_S = 3_600n

/** How a bill says what it has, in the interface's language. */
export interface BillWords {
  /** A kind of usage: "Machines". */
  kind: (usage: UsageKind) => string
  /** What a line is of. */
  title: (line: BillLine) => string
  /** What something is called that costs something. */
  subject: (subject: BillStretch['subject']) => string
  /** What ended a stretch, or what began it while it goes on; its kind where nothing says either. */
  cause: (stretch: BillStretch) => string
  /** What one would ask next of a line: its id, or what it is. */
  second: (line: BillLine) => string | undefined
  /** What of a stretch ran, how many of it, and at which price: "2 × RTX 4090 at $0.42 an hour". */
  meters: (stretch: BillStretch, currency: string) => string
  /** What all of a stretch costs: by the hour, or its price where it was paid in advance or counted. */
  rate: (stretch: BillStretch, currency: string) => string
}

/** The words of bills; they change with the language. */
export function useBillWords(): BillWords {
  const { t } = useTranslation(['bills', 'events'])
  const format = useFormat()
  return useMemo(() => {
    const kind: BillWords['kind'] = usage => t(`kinds.${usage}`)
    const subject: BillWords['subject'] = ({ id, name }) => name || id
    return {
      kind,
      subject,
      cause: ({ usage, began_by, ended_by }) => {
        const code = ended_by ?? began_by
        // A disk is kept and charged because its machine is off, whatever became of that.
        if (code === null || usage !== 'compute') return kind(usage)
        return t(`causes.${code as 'ready'}`, { defaultValue: t(`events:event.${code}`) })
      },
      title: line => {
        if (line.date !== null) return format.day(line.date)
        if (line.subject !== null) return subject(line.subject)
        return line.usage === null ? line.id : kind(line.usage)
      },
      second: ({ subject }) => {
        if (subject === null) return undefined
        if (subject.instance_name !== null) return t('of_instance', { name: subject.instance_name })
        return subject.kind === 'model_call' ? undefined : subject.id
      },
      meters: ({ meters }, currency) =>
        meters
          .map(({ label, unit, quantity, rate_micro }) =>
            t(`units.${unit as 'hour'}`, {
              what: label,
              quantity: format.number(quantity),
              size: bytesText(quantity),
              amount: format.exactMoney(rate_micro, currency),
              defaultValue: label,
            }),
          )
          .join(', '),
      rate: ({ charge, rate_micro, rate_seconds }, currency) => {
        if (charge === 'once') return t('counted')
        if (charge === 'term') return t('term', { amount: format.money(rate_micro, currency) })
        return format.rate((BigInt(rate_micro) * HOUR_S) / BigInt(rate_seconds), currency, 'h', true)
      },
    }
  }, [t, format])
}
