import {
  chooseSettlement,
  chooseSettlementBody,
  type ReferralQuarter,
  type ReferralSummary,
  type RewardType,
} from '@berth/contract/referral'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import { ChoiceFields, quarterParts } from './ChoiceFields.tsx'
import classes from './SettlementCard.module.css'

interface SettlementDialogProps {
  /** A quarter that has ended; null: the dialog is closed. */
  quarter: ReferralQuarter | null
  summary: ReferralSummary
  onClose: () => void
  onPaypal: () => void
}

/** Asks how a quarter that has ended is settled (R2.25). */
export function SettlementDialog({ quarter, ...rest }: SettlementDialogProps) {
  const { t } = useTranslation('refer')
  const title = quarter && t('settle_title', { quarter: t('quarter_name', quarterParts(quarter.quarter)) })
  return (
    <FormDialog title={title ?? ''} opened={quarter !== null} onClose={rest.onClose} size={480}>
      {quarter && <SettlementForm quarter={quarter} {...rest} />}
    </FormDialog>
  )
}

function SettlementForm({
  quarter,
  summary,
  onClose,
  onPaypal,
}: SettlementDialogProps & { quarter: ReferralQuarter }) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const choose = useChange(chooseSettlement, { silent: true })
  const { form, ...state } = useContractForm({
    schema: chooseSettlementBody,
    initialValues: { reward_type: (quarter.reward_type ?? 'bonus') as RewardType },
    async onSubmit(body) {
      await choose.send({ params: { quarter: quarter.quarter }, body })
      toast.good(t('chosen', { way: t(body.reward_type) }))
      onClose()
    },
  })
  return (
    <DialogForm call={chooseSettlement} state={state} submitLabel={t('settle')} onCancel={onClose}>
      <p>{t('settle_text', { amount: format.money(quarter.amount_micro, quarter.currency) })}</p>
      <ChoiceFields
        quarter={quarter}
        terms={summary.terms}
        paypal={summary.paypal}
        value={form.values.reward_type}
        onChange={type => form.setFieldValue('reward_type', type)}
        onPaypal={onPaypal}
      />
      {quarter.choose_until && quarter.state !== 'to_be_paid' && (
        <p className={classes.hint}>{t('without_choice', { date: format.date(quarter.choose_until) })}</p>
      )}
    </DialogForm>
  )
}
