import { checkResource, getPrice } from '@berth/contract/instances'
import { CONTAINER_DISK_GB_MAX, CONTAINER_DISK_GB_MIN } from '@berth/contract/limits'
import { useDebouncedValue } from '@mantine/hooks'
import { IconCheck, IconX } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../../api/queries.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { Card } from '../../ui/Card.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import classes from './PriceCard.module.css'

interface PriceCardProps {
  input: {
    kind: 'POD'
    billing_type: 'postpay'
    region_code: string
    gpu_spec_id: string
    gpu_count: number
    image_id: string
    container_disk_gb: number
  }
  /** The deploy is under way. */
  busy: boolean
  /** Why the gateway refused the deploy. */
  failure: string | null
}

/** Typing settles before it is priced. */
const SETTLE_MS = 200
const CHECK_REFRESH_MS = 15_000

/** What it costs, whether it would be accepted now, and the button that does it (B3, B7). */
export function PriceCard({ input, busy, failure }: PriceCardProps) {
  const { t } = useTranslation(['explore', 'errors'])
  const format = useFormat()
  const disk = input.container_disk_gb
  const diskFits = Number.isInteger(disk) && disk >= CONTAINER_DISK_GB_MIN && disk <= CONTAINER_DISK_GB_MAX
  const [asked] = useDebouncedValue(input, SETTLE_MS)
  const { image_id: _, ...priced } = asked
  const enabled = diskFits && asked.region_code !== ''
  const price = useQuery({
    ...queryOf(getPrice, { query: priced }),
    enabled,
    placeholderData: keepPreviousData,
  })
  const check = useQuery({
    ...queryOf(checkResource, { body: asked }),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: CHECK_REFRESH_MS,
  })
  const { data: balance } = useQuery(balanceQuery)
  const rates =
    price.data &&
    format.rateParts(
      price.data.lines.map(line => line.rate_micro_per_hour),
      price.data.currency,
      'h',
    )

  return (
    <Card title={t('price.title')}>
      {!price.data &&
        (price.error ? (
          <ErrorState
            message={price.error.message}
            requestId={price.error.requestId}
            onRetry={() => void price.refetch()}
          />
        ) : (
          <SkeletonRows rows={3} />
        ))}
      {price.data && (
        <dl className={classes.lines}>
          {price.data.lines.map((line, index) => (
            <div key={line.key}>
              <dt>
                {line.key === 'disk'
                  ? t('price.disk', { paid: line.quantity, of: line.of ?? line.quantity })
                  : t('price.machine', { count: line.quantity, name: line.name })}
              </dt>
              <dd>{rates?.parts[index]}</dd>
            </div>
          ))}
          <div className={classes.running}>
            <dt>{t('price.running')}</dt>
            <dd>{rates?.total}</dd>
          </div>
          <div>
            <dt>{t('price.stopped')}</dt>
            <dd>{format.rate(price.data.stopped_micro_per_day, price.data.currency, 'day')}</dd>
          </div>
          {balance && price.data.lasts_seconds !== null && (
            <div>
              <dt>
                {t('price.lasts', {
                  amount: format.cents(balance.account_balance.amount_available, balance.currency),
                })}
              </dt>
              <dd>{format.duration(price.data.lasts_seconds)}</dd>
            </div>
          )}
        </dl>
      )}
      {check.data && (
        <ul className={classes.checks} aria-label={t('check.label')}>
          {check.data.checks.map(item => (
            <li key={item.key} data-ok={item.ok}>
              {item.ok ? <IconCheck size={15} aria-hidden="true" /> : <IconX size={15} aria-hidden="true" />}
              <span>
                {t(`check.${item.code as 'gpus_free'}`, {
                  ...item.values,
                  needed: format.cents(Number(item.values.needed_cents ?? 0), balance?.currency ?? 'USD'),
                })}
              </span>
            </li>
          ))}
        </ul>
      )}
      <FormFailure message={failure} />
      <VerifiedButton
        type="submit"
        size="lg"
        fullWidth
        loading={busy}
        reason={check.data && !check.data.ok && !check.isPlaceholderData ? t('check.not_ok') : null}
      >
        {t('deploy')}
      </VerifiedButton>
      <p className={classes.note}>{t('price.note')}</p>
    </Card>
  )
}
