import { MODEL_KEPT_DAYS_MAX } from '@berth/contract/limits'
import {
  getModelKeeping,
  type ModelKeeping,
  modelKeepingBody,
  setModelKeeping,
} from '@berth/contract/model-keeping'
import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { bytesText } from '../../../ui/bytes.ts'
import { ConfirmDialog } from '../../../ui/ConfirmDialog.tsx'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './Keys.module.css'

const DAYS_FIRST = 30

/** Whether what models are asked and answer is kept, and for how long (R1.5). */
export function KeepingCard() {
  const { t } = useTranslation('keys')
  const query = useQuery(queryOf(getModelKeeping, {}))
  return (
    <SectionCard title={t('keeping.title')} lead={t('keeping.lead')}>
      <Answer query={query} data={query.data} rows={2}>
        {keeping => <KeepingForm keeping={keeping} />}
      </Answer>
    </SectionCard>
  )
}

const formSchema = z.object({
  days: z
    .string()
    .transform(text => (text.trim() === '' ? Number.NaN : Number(text.trim())))
    .pipe(modelKeepingBody.shape.days.unwrap()),
})

/** The form of it: on for so many days, or off. */
export function KeepingForm({ keeping }: { keeping: ModelKeeping }) {
  const { t } = useTranslation('keys')
  const { number } = useFormat()
  const change = useChange(setModelKeeping, { silent: true })
  const off = useChange(setModelKeeping)
  const [asks, setAsks] = useState(false)
  const isOn = keeping.days !== null
  const { form, submit, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: { days: String(keeping.days ?? DAYS_FIRST) },
    async onSubmit(body) {
      await change.send({ body })
      form.resetDirty()
      toast.good(t('keeping.saved', { count: body.days }))
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <p>
        {isOn
          ? t('keeping.on', {
              count: keeping.calls,
              calls: number(keeping.calls),
              size: bytesText(keeping.bytes),
            })
          : t('keeping.off')}
      </p>
      <TextInput
        label={t('keeping.days')}
        description={t('keeping.days_note', { max: MODEL_KEPT_DAYS_MAX })}
        inputMode="numeric"
        autoComplete="off"
        maw="32rem"
        classNames={{ input: 'tabular' }}
        {...form.getInputProps('days')}
      />
      <FormFailure message={failure} />
      <div className={classes.rowButtons} data-start>
        <Button type="submit" loading={busy} disabled={isOn && !form.isDirty()}>
          {isOn ? t('keeping.save') : t('keeping.turn_on')}
        </Button>
        {isOn && (
          <Button variant="default" onClick={() => setAsks(true)}>
            {t('keeping.turn_off')}
          </Button>
        )}
      </div>
      <ConfirmDialog
        danger
        opened={asks}
        title={t('keeping.confirm')}
        confirmLabel={t('keeping.turn_off')}
        onConfirm={async () => {
          await off.send({ body: { days: null } })
          toast.good(t('keeping.turned_off'))
        }}
        onClose={() => setAsks(false)}
      >
        {t('keeping.confirm_text')}
      </ConfirmDialog>
    </form>
  )
}
