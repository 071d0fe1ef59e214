import { addPaymentMethod, addPaymentMethodBody } from '@berth/contract/payment-methods'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { CardFields } from '../CardFields.tsx'
import { HOSTED_SOURCE, leave, type PayPlatform } from '../pay-platform.ts'
import classes from './MethodsCard.module.css'

interface AddMethodFormProps {
  platform: PayPlatform
  onClose: () => void
  /** Goes to the platform's page, from which the browser comes back. */
  onLeave?: (address: string) => void
}

/** Keeps a card without charging it: entered here, or at the platform's own page (R3.7). */
export function AddMethodForm({ platform, onClose, onLeave = leave }: AddMethodFormProps) {
  const { t } = useTranslation('methods')
  const isHosted = platform.entry === 'hosted'
  const add = useChange(addPaymentMethod, { silent: true })
  const { form, ...state } = useContractForm({
    schema: isHosted ? hostedSchema : formSchema,
    initialValues: { source: '' },
    onSubmit: async ({ source }) => {
      const body = { platform_name: platform.platform_name, source: isHosted ? HOSTED_SOURCE : source }
      const { method, next_url: page } = await add.send({ body })
      if (page !== null) {
        onLeave(page)
        return
      }
      if (method.status === 'saved') toast.good(t('add.done'))
      else toast.info(t('add.under_way'))
      onClose()
    },
  })
  return (
    <DialogForm
      call={addPaymentMethod}
      state={state}
      submitLabel={isHosted ? t('add.continue', { platform: platform.display_name }) : t('add.submit')}
      onCancel={onClose}
    >
      <p className={classes.note}>
        {isHosted ? t('add.hosted', { platform: platform.display_name }) : t('add.note')}
      </p>
      {!isHosted && (
        <CardFields
          platform={platform}
          field={{ ...form.getInputProps('source'), 'data-autofocus': true }}
          onPick={number => form.setFieldValue('source', number)}
        />
      )}
    </DialogForm>
  )
}

const formSchema = addPaymentMethodBody.pick({ source: true })

/** Where the card is entered elsewhere, nothing is typed of it here. */
const hostedSchema = z.object({ source: z.string() })
