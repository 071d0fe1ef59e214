import {
  getBalance,
  getSpend,
  listPayPlatforms,
  listTransactions,
  topup,
  topupBody,
} from '@berth/contract/billing'
import { centsFromText } from '@berth/contract/money'
import { Button, Modal, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { request } from '../../api/client.ts'
import { balanceQuery, queryOf } from '../../api/queries.ts'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './TopupDialog.module.css'

/** Amounts to choose from, in units of the currency. */
const PRESETS = ['10', '25', '50', '100'] as const

/** Test cards by what they do; the numbers are the ones that payment platforms publish for testing. */
const TEST_CARDS = [
  { key: 'succeeds', number: '4242 4242 4242 4242' },
  { key: 'declines', number: '4000 0000 0000 0002' },
  { key: 'no_funds', number: '4000 0000 0000 9995' },
] as const

interface TopupDialogProps {
  opened: boolean
  onClose: () => void
}

/** Adds to the balance by a one-time charge (R2.22). */
export function TopupDialog({ opened, onClose }: TopupDialogProps) {
  const { t } = useTranslation(['payments', 'common'])
  const platforms = useQuery({ ...queryOf(listPayPlatforms, {}), enabled: opened })
  const balance = useQuery(balanceQuery)
  const platform = platforms.data?.[0]
  const currency = balance.data?.currency
  const error = platforms.error ?? (currency ? null : balance.error)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('topup.title')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={440}
    >
      {platform && currency ? (
        <TopupForm platform={platform} currency={currency} onClose={onClose} />
      ) : error ? (
        <ErrorState
          message={error.message}
          requestId={error.requestId}
          onRetry={() => void platforms.refetch()}
        />
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Modal>
  )
}

interface TopupFormProps {
  platform: { platform_name: string; display_name: string; test: boolean }
  currency: 'USD' | 'EUR'
  onClose: () => void
}

function TopupForm({ platform, currency, onClose }: TopupFormProps) {
  const { t } = useTranslation(['payments', 'common'])
  const format = useFormat()
  const queries = useQueryClient()
  const { form, submit, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: { amount: '25', source: '' },
    onSubmit: async ({ amount, source }) => {
      const body = { amount, source, currency, platform_name: platform.platform_name }
      const paid = await request(topup, { body }, { silent: true })
      toast.good(t('topup.done', { amount: format.cents(paid.amount, paid.currency) }))
      for (const call of [getBalance, listTransactions, getSpend]) {
        void queries.invalidateQueries({ queryKey: [call.operation] })
      }
      form.reset()
      onClose()
    },
  })
  // The dialog opens before the form can be drawn, so its own focus rule finds only the close button.
  const amountField = useRef<HTMLInputElement>(null)
  useEffect(() => amountField.current?.focus(), [])
  const cents = centsFromText(form.values.amount)
  const preset = PRESETS.find(value => value === form.values.amount.trim())
  const charged = cents === null ? null : format.cents(cents, currency)
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <div className={classes.amount}>
        <SegmentedFilter
          fill
          label={t('topup.presets')}
          value={preset ?? ''}
          onChange={value => form.setFieldValue('amount', value)}
          options={PRESETS.map(value => ({
            value,
            label: format.cents(Number(value) * 100, currency).replace('.00', ''),
          }))}
        />
        <TextInput
          label={t('topup.amount', { currency })}
          inputMode="decimal"
          autoComplete="off"
          ref={amountField}
          {...form.getInputProps('amount')}
        />
      </div>
      <TextInput
        label={t('topup.card')}
        description={platform.test ? t('topup.test_note') : undefined}
        placeholder="4242 4242 4242 4242"
        inputMode="numeric"
        autoComplete="off"
        classNames={{ input: 'tabular' }}
        {...form.getInputProps('source')}
      />
      {platform.test && (
        <div className={classes.cards}>
          {TEST_CARDS.map(card => (
            <Button
              key={card.key}
              size="xs"
              variant="default"
              onClick={() => form.setFieldValue('source', card.number)}
            >
              {t(`topup.cards.${card.key}`)}
            </Button>
          ))}
        </div>
      )}
      <dl className={classes.sum}>
        <dt>{t('topup.one_time')}</dt>
        <dd className="tabular">{charged ?? t('topup.no_amount')}</dd>
      </dl>
      <FormFailure message={failure} />
      <Button type="submit" size="lg" fullWidth loading={busy}>
        {charged ? t('topup.pay', { amount: charged }) : t('topup.pay_plain')}
      </Button>
    </form>
  )
}

/** The form holds text; the amount is rounded up to the cent (R9.3) and then meets the call's own rule (R5.8). */
const formSchema = z.object({
  amount: z
    .string()
    .transform(text => centsFromText(text) ?? Number.NaN)
    .pipe(topupBody.shape.amount),
  source: topupBody.shape.source,
})
