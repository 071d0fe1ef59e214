import {
  paypalAccountBody,
  type ReferralSummary,
  removePaypalAccount,
  setPaypalAccount,
} from '@berth/contract/referral'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './SettlementCard.module.css'

interface PaypalDialogProps {
  summary: ReferralSummary
  opened: boolean
  onClose: () => void
  /** It is said, or was changed. */
  onSaved: () => void
}

/** Says where money is paid to, or changes it (R5.11). */
export function PaypalDialog({ summary, opened, onClose, onSaved }: PaypalDialogProps) {
  const { t } = useTranslation('refer')
  return (
    <FormDialog title={t(summary.paypal ? 'paypal_change' : 'paypal_add')} opened={opened} onClose={onClose}>
      <PaypalForm summary={summary} onClose={onClose} onSaved={onSaved} />
    </FormDialog>
  )
}

function PaypalForm({ summary: { paypal, terms }, onClose, onSaved }: Omit<PaypalDialogProps, 'opened'>) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const set = useChange(setPaypalAccount, { silent: true })
  const remove = useChange(removePaypalAccount)
  const off = useOffFor(removePaypalAccount)
  const { form, ...state } = useContractForm({
    schema: paypalAccountBody,
    initialValues: { paypal_account: paypal?.paypal_account ?? '' },
    async onSubmit(body) {
      const account = await set.send({ body })
      toast.good(
        t(account.state === 'confirmed' ? 'paypal_saved' : 'mail_sent', { account: account.paypal_account }),
      )
      onClose()
      onSaved()
    },
  })
  return (
    <DialogForm call={setPaypalAccount} state={state} submitLabel={t('paypal_save')} onCancel={onClose}>
      <TextInput
        data-autofocus
        type="email"
        autoComplete="email"
        label={t('paypal_label')}
        description={t('paypal_hint', { hours: terms.paypal_frozen_hours })}
        {...form.getInputProps('paypal_account')}
      />
      {paypal?.frozen_until && (
        <p className={classes.hint}>{t('frozen', { date: format.moment(paypal.frozen_until) })}</p>
      )}
      {paypal && !paypal.frozen_until && (
        <p className={classes.hint}>
          <LinkButton
            disabled={remove.busy || off !== null}
            onClick={() =>
              void remove
                .send({})
                .then(() => {
                  toast.good(t('paypal_removed'))
                  onClose()
                })
                .catch(told)
            }
          >
            {t('paypal_remove')}
          </LinkButton>{' '}
          {t('paypal_remove_hint')}
        </p>
      )}
    </DialogForm>
  )
}
