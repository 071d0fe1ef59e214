import { type Balance, listOpenTopups, type Transaction, topup, topupBody } from '@berth/contract/billing'
import { TOPUP_CENTS_MAX, TOPUP_CENTS_MIN } from '@berth/contract/limits'
import { centsFloor, centsFromText } from '@berth/contract/money'
import { TextInput } from '@mantine/core'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError, isUnsettled } from '../../api/api-error.ts'
import { request } from '../../api/client.ts'
import { useChange } from '../../api/use-change.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { useWayTo } from '../../app/way-to.ts'
import { amountText } from '../../ui/amount-text.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import { BalanceThen } from './BalanceThen.tsx'
import { PayWith } from './methods/PayWith.tsx'
import { type PayChoice, usePayWith } from './methods/use-pay-with.ts'
import { NewCard } from './NewCard.tsx'
import { leave, type PayPlatform } from './pay-platform.ts'
import { useCardFrame } from './stripe/use-card-frame.ts'
import classes from './TopupDialog.module.css'
import { usePaidElsewhere } from './use-paid-elsewhere.ts'
import { ZeroNote } from './ZeroNote.tsx'

/** Amounts to choose from, in units of the currency. */
const PRESETS = ['10', '25', '50', '100', '250'] as const

/** What the form holds. */
export type TopupValues = Record<'amount' | 'source', string> & { payWith?: PayChoice }

export const NOTHING_TYPED: TopupValues = { amount: '25', source: '' }

interface TopupFormProps {
  platform: PayPlatform
  /** What is there now; what is owed of it is paid before anything else. */
  balance: Balance
  /** What was typed before, and is kept for the next time. */
  typed: RefObject<TopupValues>
  onSettled: (paid: { amount: number; currency: string }) => void
  /** It is not known yet whether it is paid, or the customer is asked something. */
  onInFlight: (id: string) => void
  /** Goes to the platform's page, from which the browser comes back. */
  onLeave?: (address: string) => void
}

/** What is paid, and with what. */
export function TopupForm(props: TopupFormProps) {
  const { platform, balance, typed, onSettled, onInFlight, onLeave = leave } = props
  const isHosted = platform.entry === 'hosted'
  const place = useCardFrame(platform)
  const { currency } = balance
  const owedCents = balance.account_balance.amount_owed
  const { t } = useTranslation(['payments', 'common'])
  const format = useFormat()
  const toPayment = useWayTo('/payments', { topup: 'open' })
  const elsewhere = usePaidElsewhere()
  const pay = useChange(topup, {
    silent: true,
    behind: true,
    whenGone: ({ status, amount, currency: paidIn }) => {
      elsewhere.answered()
      const text = { amount: format.cents(amount, paidIn) }
      if (status === 'settled') toast.good(t('topup.done', text))
      else toast.info(t('topup.under_way', text), { link: toPayment })
    },
  })
  const payWith = usePayWith(typed.current.payWith)
  const { method, choice } = payWith
  const [paidElsewhere, setPaid] = useState<Transaction | null>(null)
  const leavesFirst = isHosted && place.frameKey === null && method === null
  const { form, submit, busy, failure } = useContractForm({
    schema: isHosted || method !== null ? hostedSchema : formSchema,
    initialValues: { amount: typed.current.amount, source: typed.current.source },
    onSubmit: async ({ amount, source }) => {
      setPaid(null)
      const saved = method && { platform_name: method.platform_name, method_id: method.id }
      const entered = async () => ({
        platform_name: platform.platform_name,
        source: isHosted ? await place.sourceOf() : source,
        ...(choice.saves && { save_method: true }),
      })
      const after = await elsewhere.known()
      const body = {
        ...{ amount, currency },
        ...(saved ?? (await entered())),
        ...(after !== undefined && { after }),
      }
      elsewhere.sending(after)
      try {
        const paid = await pay.send({ body })
        elsewhere.answered()
        if (paid.status === 'settled') onSettled(paid)
        else onInFlight(paid.transaction_id)
        if (leavesFirst && paid.next_url !== null) onLeave(paid.next_url)
      } catch (error) {
        const other =
          error instanceof ApiError && error.code === 'topup_elsewhere' ? await elsewhere.find() : null
        if (other?.status === 'pending') return onInFlight(other.id)
        if (other) return setPaid(other)
        const unknown = await unknownOf(error)
        if (unknown !== null || (error instanceof ApiError && !isUnsettled(error))) elsewhere.answered()
        if (unknown === null) throw error
        onInFlight(unknown)
      }
    },
  })
  useEffect(() => {
    typed.current = { ...form.values, payWith: choice }
  }, [typed, form.values, choice])
  // The dialog opens before the form can be drawn, so its own focus rule finds only the close button.
  const amountField = useRef<HTMLInputElement>(null)
  useEffect(() => amountField.current?.focus(), [])
  const cents = centsFromText(form.values.amount)
  const preset = PRESETS.find(value => value === form.values.amount.trim())
  // An amount that would be refused is not offered to be paid.
  const charged = topupBody.shape.amount.safeParse(cents).success ? format.cents(cents ?? 0, currency) : null
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
          description={t('topup.limits', {
            least: format.cents(TOPUP_CENTS_MIN, currency),
            most: format.cents(TOPUP_CENTS_MAX, currency),
          })}
          inputMode="decimal"
          autoComplete="off"
          ref={amountField}
          {...form.getInputProps('amount')}
        />
        {charged !== null && <BalanceThen balance={balance} addedCents={cents ?? 0} />}
      </div>
      <PayWith payWith={payWith}>
        <NewCard
          platform={platform}
          place={place}
          // While it is no amount that can be paid, the frame is told of the least.
          cents={charged === null ? TOPUP_CENTS_MIN : cents}
          currency={currency}
          saves={choice.saves}
          isChosen={payWith.isKnown}
          field={form.getInputProps('source')}
          onPick={number => form.setFieldValue('source', number)}
        />
      </PayWith>
      <ZeroNote />
      <dl className={classes.sum}>
        <dt>{t('topup.one_time')}</dt>
        <dd className="tabular">{charged ?? t('topup.no_amount')}</dd>
      </dl>
      {owedCents > 0 && (
        <p className={classes.owed}>
          {t('topup.owed_first', { amount: format.cents(Math.min(owedCents, cents ?? owedCents), currency) })}
        </p>
      )}
      <FormFailure
        message={
          paidElsewhere
            ? t('topup.elsewhere', {
                amount: format.cents(centsFloor(BigInt(paidElsewhere.amount_micro)), currency),
                date: format.moment(paidElsewhere.date),
              })
            : failure
        }
      />
      <VerifiedButton call={topup} type="submit" size="lg" fullWidth loading={busy}>
        {leavesFirst
          ? t('topup.continue', { platform: platform.display_name })
          : charged
            ? t('topup.pay', { amount: charged })
            : t('topup.pay_plain')}
      </VerifiedButton>
    </form>
  )
}

/** The form holds text; the amount is rounded up to the cent (R9.3) and then meets the call's own rule (R5.8). */
const formSchema = z.object({
  amount: amountText.pipe(topupBody.shape.amount),
  source: topupBody.shape.source.unwrap(),
})

/** Where a saved card is charged, or a new one is entered elsewhere, nothing is typed of it here. */
const hostedSchema = formSchema.extend({ source: z.string() })

/** The payment of which the platform did not say what became; null where the error is another. */
async function unknownOf(error: unknown): Promise<string | null> {
  if (!(error instanceof ApiError) || error.code !== 'payment_pending') return null
  const open = await request(listOpenTopups, {}, { silent: true }).catch(() => [])
  return open[0]?.transaction_id ?? null
}
