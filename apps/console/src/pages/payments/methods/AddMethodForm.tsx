import { addPaymentMethod, addPaymentMethodBody } from '@berth/contract/payment-methods'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { balanceQuery } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { NewCard } from '../NewCard.tsx'
import { leave, type PayPlatform } from '../pay-platform.ts'
import { useCardFrame } from '../stripe/use-card-frame.ts'
import classes from './MethodsCard.module.css'

interface AddMethodFormProps {
  platform: PayPlatform
  onClose: () => void
  /** Goes to the page of the platform or of the card's bank, from which the browser comes back. */
  onLeave?: (address: string) => void
}

/** Keeps a card without charging it: entered here, in a frame of the platform's, or at its page (R3.7). */
export function AddMethodForm({ platform, onClose, onLeave = leave }: AddMethodFormProps) {
  const { t } = useTranslation('methods')
  const isHosted = platform.entry === 'hosted'
  const place = useCardFrame(platform)
  const leavesFirst = isHosted && place.frameKey === null
  const balance = useQuery(balanceQuery)
  const add = useChange(addPaymentMethod, { silent: true })
  const { form, ...state } = useContractForm({
    schema: isHosted ? hostedSchema : formSchema,
    initialValues: { source: '' },
    onSubmit: async ({ source }) => {
      const entered = isHosted ? await place.sourceOf() : source
      const body = { platform_name: platform.platform_name, source: entered }
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
      submitLabel={leavesFirst ? t('add.continue', { platform: platform.display_name }) : t('add.submit')}
      onCancel={onClose}
    >
      <p className={classes.note}>
        {leavesFirst ? t('add.hosted', { platform: platform.display_name }) : t('add.note')}
      </p>
      {!leavesFirst && (
        <NewCard
          platform={platform}
          place={place}
          cents={null}
          currency={balance.data?.currency ?? 'USD'}
          saves
          isChosen={!balance.isPending}
          field={{ ...form.getInputProps('source'), 'data-autofocus': true }}
          onPick={number => form.setFieldValue('source', number)}
        />
      )}
      {place.hasFailed && (
        <p className={classes.note}>{t('add.frame_failed', { platform: platform.display_name })}</p>
      )}
    </DialogForm>
  )
}

const formSchema = addPaymentMethodBody.pick({ source: true })

/** Where the card is entered elsewhere, nothing is typed of it here. */
const hostedSchema = z.object({ source: z.string() })
