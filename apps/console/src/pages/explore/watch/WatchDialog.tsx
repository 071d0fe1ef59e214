import type { DeployBody } from '@berth/contract/instances'
import { OFFER_WATCH_DAYS_MAX } from '@berth/contract/limits'
import { watchOffer, watchOfferBody } from '@berth/contract/offer-watches'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { microFromText } from '../../../ui/micro-text.ts'
import { momentFromText, textFromMoment } from '../../../ui/stop-rules.ts'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { EXPLORE_FIELDS } from '../search.ts'

/** A week from now is offered at first. */
const DAYS_FIRST = 7
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const MICRO_DIGITS = 6

/** What is watched, in words too. */
export interface WatchedOffer {
  /** `1 × B200` */
  name: string
  region: string
  region_code: string
  gpu_spec_id: string
  gpu_count: number
  /** What an hour of the form's setup costs now; null while that is not known. */
  microPerHour: string | null
  currency: string
}

interface WatchDialogProps {
  offer: WatchedOffer
  /** What is deployed when the offer is back; null for a mail. */
  setup: DeployBody | null
  opened: boolean
  onClose: () => void
}

/** Asks until when an offer is watched, and for a deploy what an hour may cost at most (B15). */
export function WatchDialog({ offer, setup, opened, onClose }: WatchDialogProps) {
  const { t } = useTranslation('watches')
  const title = t(setup ? 'deploy_title' : 'mail_title', { name: offer.name, region: offer.region })
  return (
    <FormDialog opened={opened} onClose={onClose} title={title}>
      <WatchForm offer={offer} setup={setup} onClose={onClose} />
    </FormDialog>
  )
}

function WatchForm({ offer, setup, onClose }: Omit<WatchDialogProps, 'opened'>) {
  const { t } = useTranslation('watches')
  const { region_code, gpu_spec_id, gpu_count } = offer
  const watch = useChange(watchOffer, { silent: true })
  const [first] = useState(() => new Date(wholeMinutes(Date.now() + DAYS_FIRST * DAY_MS)))
  const { form, ...state } = useContractForm({
    schema: setup ? deploySchema : mailSchema,
    initialValues: { until: textFromMoment(first), price: setup ? textFromMicro(offer.microPerHour) : '' },
    onSubmit: async ({ until, price }) => {
      const deploy = setup && { price_max_micro_per_hour: price, setup: keptOf(setup) }
      await watch.send({ body: { region_code, gpu_spec_id, gpu_count, until, deploy } })
      toast.good(t('saved', { name: offer.name }))
      onClose()
    },
  })
  return (
    <DialogForm call={watchOffer} state={state} submitLabel={t('save')} onCancel={onClose}>
      {setup && <p>{t('deploy_note', { instance: setup.name })}</p>}
      {setup && (
        <TextInput
          label={t('price', { currency: offer.currency })}
          description={t('price_note')}
          inputMode="decimal"
          autoComplete="off"
          classNames={{ input: 'tabular' }}
          data-autofocus
          {...form.getInputProps('price')}
        />
      )}
      <TextInput
        type="datetime-local"
        label={t('until')}
        description={t('until_note', { count: OFFER_WATCH_DAYS_MAX })}
        {...form.getInputProps('until')}
      />
    </DialogForm>
  )
}

const until = z
  .string()
  .transform(text => momentFromText(text) ?? '')
  .pipe(watchOfferBody.shape.until)
const mailSchema = z.object({ until, price: z.string() })
const deploySchema = z.object({
  until,
  price: z
    .string()
    .transform(text => text.trim().replace(',', '.'))
    .refine(text => EXPLORE_FIELDS.price.safeParse(text).success, 'not_a_number')
    .transform(text => String(microFromText(text))),
})

/** All of a deploy but what is watched. A term is paid at once, which no price of an hour bounds: it is on demand. */
function keptOf({ region_code: _region, gpu_spec_id: _spec, gpu_count: _count, ...setup }: DeployBody) {
  return { ...setup, billing_type: 'postpay' as const, charge_cycle: null, price_micro: null }
}

function wholeMinutes(ms: number): number {
  return ms - (ms % MINUTE_MS)
}

/** `2.39` for 2390000; empty where nothing is known. */
function textFromMicro(micro: string | null): string {
  if (micro === null) return ''
  const digits = micro.padStart(MICRO_DIGITS + 1, '0')
  const text = `${digits.slice(0, -MICRO_DIGITS)}.${digits.slice(-MICRO_DIGITS)}`
  return text.replace(/(\.\d\d\d*?)0+$/, '$1')
}
