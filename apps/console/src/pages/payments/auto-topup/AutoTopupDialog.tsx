import { type AutoTopup, autoTopupBody, setAutoTopup } from '@berth/contract/auto-topup'
import { AUTO_TOPUP_DECLINES_MAX, TOPUP_CENTS_MAX, TOPUP_CENTS_MIN } from '@berth/contract/limits'
import { listPaymentMethods } from '@berth/contract/payment-methods'
import { Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { amountText } from '../../../ui/amount-text.ts'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { useMethodName } from '../methods/method-text.ts'
import classes from './AutoTopupCard.module.css'

interface AutoTopupDialogProps {
  /** As it is set; what the form begins with. */
  auto: AutoTopup
  opened: boolean
  onClose: () => void
}

/** Turns auto top-up on, or changes what it does: all of it at once (R3.9). */
export function AutoTopupDialog({ auto, opened, onClose }: AutoTopupDialogProps) {
  const { t } = useTranslation('methods')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('auto.title')}>
      <AutoTopupForm auto={auto} onClose={onClose} />
    </FormDialog>
  )
}

function AutoTopupForm({ auto, onClose }: Omit<AutoTopupDialogProps, 'opened'>) {
  const { t } = useTranslation(['methods', 'payments'])
  const format = useFormat()
  const set = useChange(setAutoTopup, { silent: true })
  const { currency } = auto
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: {
      threshold: textOf(auto.threshold),
      amount: textOf(auto.amount),
      monthly_cap: textOf(auto.monthly_cap),
      payment_method_id: auto.payment_method_id ?? DEFAULT,
    },
    onSubmit: async body => {
      await set.send({ body })
      toast.good(t(auto.enabled ? 'auto.saved' : 'auto.turned_on'))
      onClose()
    },
  })
  const limits = {
    least: format.cents(TOPUP_CENTS_MIN, currency),
    most: format.cents(TOPUP_CENTS_MAX, currency),
  }
  const field = (name: 'threshold' | 'amount' | 'monthly_cap') => ({
    label: t(`auto.form.${name}`, { currency }),
    inputMode: 'decimal' as const,
    autoComplete: 'off',
    classNames: { input: 'tabular' },
    ...form.getInputProps(name),
  })
  return (
    <DialogForm
      call={setAutoTopup}
      state={state}
      submitLabel={t(auto.enabled ? 'auto.form.save' : 'auto.form.turn_on')}
      onCancel={onClose}
    >
      <TextInput description={t('auto.form.threshold_note')} data-autofocus {...field('threshold')} />
      <TextInput description={t('payments:topup.limits', limits)} {...field('amount')} />
      <TextInput description={t('auto.form.monthly_cap_note')} {...field('monthly_cap')} />
      <MethodField field={form.getInputProps('payment_method_id')} />
      <p className={classes.text}>{t('auto.form.rules', { count: AUTO_TOPUP_DECLINES_MAX })}</p>
    </DialogForm>
  )
}

/** What it charges: whichever is the default, or one that is named. */
function MethodField({ field }: { field: object }) {
  const { t } = useTranslation('methods')
  const name = useMethodName()
  const { data } = useQuery(queryOf(listPaymentMethods, {}))
  const saved = (data ?? []).filter(({ status }) => status === 'saved')
  return (
    <Select
      label={t('auto.form.method')}
      allowDeselect={false}
      data={[
        { value: DEFAULT, label: t('auto.form.default_method') },
        ...saved.map(method => ({
          value: method.id,
          label: name(method),
          disabled: method.expired,
        })),
      ]}
      {...field}
    />
  )
}

/** What stands for the default among the methods, whose ids are longer. */
const DEFAULT = 'default'

const textOf = (cents: number) => (cents / 100).toFixed(2)

/** The form holds text; it becomes the call's body and meets the call's own rules. */
const formSchema = z
  .object({
    threshold: amountText,
    amount: amountText,
    monthly_cap: amountText,
    payment_method_id: z.string().transform(text => (text === DEFAULT ? null : text)),
  })
  .transform(values => ({ ...values, enabled: true }))
  .pipe(autoTopupBody)
