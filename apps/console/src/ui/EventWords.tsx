import { useTranslation } from 'react-i18next'
import { eventDetail } from './event-detail.ts'
import { useFormat } from './format.ts'
import { TechnicalDetail } from './TechnicalDetail.tsx'

/**
 * The second line of an event, or of an instance's reason.
 * @param of What the detail is of, as `eventDetail` has it.
 */
export function EventWords({
  detail,
  of,
  className,
}: {
  detail: string
  of: string
  className?: string | undefined
}) {
  const { t } = useTranslation(['common', 'events'])
  const { words, technical } = eventDetail(detail, of, t, useFormat().weekdayMoment)
  return (
    <>
      {words && <span className={className}>{words}</span>}
      <TechnicalDetail lines={[technical]} />
    </>
  )
}
