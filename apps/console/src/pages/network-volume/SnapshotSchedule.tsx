import { SNAPSHOTS_KEPT_MAX } from '@berth/contract/limits'
import {
  SNAPSHOT_EVERY,
  type SnapshotEvery,
  scheduleSnapshots,
  snapshotScheduleBody,
  type VolumeSnapshots,
} from '@berth/contract/volume-snapshots'
import type { Volume } from '@berth/contract/volumes'
import { NumberInput, Select } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './Snapshots.module.css'

const HOURS = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  label: `${String(hour).padStart(2, '0')}:00 UTC`,
}))
/** A Sunday, which is day 0. */
const SOME_SUNDAY = Date.UTC(2026, 10, 1)
const DAY_MS = 86_400_000

/** When snapshots are taken by themselves, how many of those are kept, and what they cost then. */
export function SnapshotSchedule({ volume, all }: { volume: Volume; all: VolumeSnapshots }) {
  const { t, i18n } = useTranslation('volumes')
  const format = useFormat()
  const { schedule, currency, expected_gb, micro_per_gb_day } = all
  const change = useChange(scheduleSnapshots, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: {
      every: schedule.every as string,
      hour: String(schedule.hour),
      weekday: String(schedule.weekday),
      keep: schedule.keep as number | string,
    },
    onSubmit: async body => {
      await change.send({ params: { id: volume.id }, body })
      toast.good(t('snapshots.schedule.done'))
    },
  })
  const every = form.values.every as SnapshotEvery
  const keep = Number(form.values.keep)
  const isKept = Number.isInteger(keep) && keep >= 1 && keep <= SNAPSHOTS_KEPT_MAX
  const dayOf = new Intl.DateTimeFormat(i18n.language, { weekday: 'long', timeZone: 'UTC' })
  const weekdays = Array.from({ length: 7 }, (_, day) => ({
    value: String(day),
    label: dayOf.format(SOME_SUNDAY + day * DAY_MS),
  }))
  const most = isKept ? BigInt(keep * expected_gb) * BigInt(micro_per_gb_day) : 0n
  return (
    <section aria-label={t('snapshots.schedule.title')} className={classes.schedule}>
      <h3>{t('snapshots.schedule.title')}</h3>
      <form onSubmit={submit} noValidate className={classes.form}>
        <div className={classes.fields}>
          <Select
            label={t('snapshots.schedule.every')}
            allowDeselect={false}
            data={SNAPSHOT_EVERY.map(value => ({ value, label: t(`snapshots.schedule.evers.${value}`) }))}
            {...form.getInputProps('every')}
            onChange={chosen => {
              form.setFieldValue('every', chosen ?? every)
              // How many are kept is asked for no more then: what is wrong there could not be put right.
              if (chosen === 'off' && !isKept) form.setFieldValue('keep', schedule.keep)
            }}
          />
          {every === 'weekly' && (
            <Select
              label={t('snapshots.schedule.weekday')}
              allowDeselect={false}
              data={weekdays}
              {...form.getInputProps('weekday')}
            />
          )}
          {(every === 'daily' || every === 'weekly') && (
            <Select
              label={t('snapshots.schedule.hour')}
              allowDeselect={false}
              data={HOURS}
              {...form.getInputProps('hour')}
            />
          )}
          {every !== 'off' && (
            <NumberInput
              label={t('snapshots.schedule.keep')}
              allowDecimal={false}
              allowNegative={false}
              clampBehavior="none"
              {...form.getInputProps('keep')}
            />
          )}
        </div>
        <p className={classes.quiet}>
          {t(every === 'off' ? 'snapshots.schedule.off_note' : 'snapshots.schedule.keep_note')}
          {every !== 'off' &&
            isKept &&
            ` ${t('snapshots.schedule.cost', {
              number: format.number(keep),
              gb: format.number(expected_gb),
              rate: format.rate(most, currency, 'day', true),
            })}`}
        </p>
        {schedule.skipped !== null && schedule.skipped_at !== null && (
          <p className={classes.warned}>
            {t(`snapshots.schedule.skipped.${schedule.skipped}`, {
              when: format.moment(schedule.skipped_at),
            })}
          </p>
        )}
        <FormFailure message={failure} />
        <div className={classes.bar}>
          <span className={classes.quiet}>
            {schedule.next_at !== null &&
              t('snapshots.schedule.next', { when: format.moment(schedule.next_at) })}
          </span>
          <VerifiedButton call={scheduleSnapshots} type="submit" variant="default" loading={busy}>
            {t('snapshots.schedule.save')}
          </VerifiedButton>
        </div>
      </form>
    </section>
  )
}

const typedNumber = z
  .union([z.number(), z.string()])
  .transform(value => (value === '' ? Number.NaN : Number(value)))

const formSchema = z.object({
  every: z.string().pipe(snapshotScheduleBody.shape.every),
  hour: typedNumber.pipe(snapshotScheduleBody.shape.hour),
  weekday: typedNumber.pipe(snapshotScheduleBody.shape.weekday),
  keep: typedNumber.pipe(snapshotScheduleBody.shape.keep),
})
