import { listSnapshots, takeSnapshot, type VolumeSnapshots } from '@berth/contract/volume-snapshots'
import type { Volume } from '@berth/contract/volumes'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { useWayTo } from '../../app/way-to.ts'
import { FormDialog } from '../../lists/FormDialog.tsx'
import { useAsked } from '../../lists/use-asked.ts'
import { Answer } from '../../ui/Answer.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { type SnapshotAsked, SnapshotList } from './SnapshotList.tsx'
import { SnapshotSchedule } from './SnapshotSchedule.tsx'
import classes from './Snapshots.module.css'

const POLL_CHANGING_MS = 2_000
const POLL_RESTING_MS = 15_000

const DIALOGS = {
  restore: lazyPart(() => import('./RestoreSnapshotDialog.tsx').then(module => module.RestoreSnapshotDialog)),
  delete: lazyPart(() => import('./DeleteSnapshotDialog.tsx').then(module => module.DeleteSnapshotDialog)),
}

interface SnapshotsDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** The snapshots of a volume: those that there are, one more by hand, and those by schedule (R1.2, R2.25). */
export function SnapshotsDialog({ volume, opened, onClose }: SnapshotsDialogProps) {
  const { t } = useTranslation('volumes')
  const asked = useAsked<SnapshotAsked>()
  const query = useQuery({
    ...queryOf(listSnapshots, { params: { id: volume.id } }),
    refetchInterval: ({ state }) =>
      state.data?.snapshots.some(({ status }) => status === 'making' || status === 'deleting')
        ? POLL_CHANGING_MS
        : POLL_RESTING_MS,
  })
  const Dialog = asked.what && DIALOGS[asked.what.action]
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('snapshots.title', { name: volume.name })}
      size={680}
    >
      <Answer query={query} data={query.data} rows={5}>
        {all => (
          <div className={classes.body} ref={asked.fallback}>
            <Take volume={volume} all={all} />
            <SnapshotList snapshots={all.snapshots} onAsk={asked.ask} />
            <SnapshotSchedule volume={volume} all={all} />
          </div>
        )}
      </Answer>
      <Suspense>
        {Dialog && asked.what && (
          <Dialog
            key={`${asked.what.action} ${asked.what.snapshot.id}`}
            volume={volume}
            snapshot={asked.what.snapshot}
            opened={asked.opened}
            onClose={asked.close}
          />
        )}
      </Suspense>
    </FormDialog>
  )
}

/** What one is and costs, and the button that takes one. */
function Take({ volume, all }: { volume: Volume; all: VolumeSnapshots }) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const toVolumes = useWayTo('/network-volume')
  const { id, name, status } = volume
  const { currency, micro_per_gb_day, expected_gb, by_hand_left } = all
  const said = t('snapshots.taking', { name })
  const take = useChange(takeSnapshot, { whenGone: () => toast.good(said, { link: toVolumes }) })
  const [takenId, setTakenId] = useState<string | null>(null)
  const taken = all.snapshots.find(one => one.id === takenId)
  const isTaking = takenId !== null && (!taken || taken.status === 'making')
  const isReady = status === 'ready' || status === 'growing'
  const off = isReady ? null : t('snapshots.not_ready')
  const expected = {
    gb: format.number(expected_gb),
    rate: format.rate(BigInt(expected_gb) * BigInt(micro_per_gb_day), currency, 'day', true),
  }
  return (
    <>
      <p className={classes.lead}>
        {t('snapshots.lead', { rate: format.exactMoney(micro_per_gb_day, currency) })}
      </p>
      <div className={classes.bar}>
        <span className={classes.quiet} aria-live="polite">
          {isTaking ? said : t('snapshots.expected', expected)}
        </span>
        <VerifiedButton
          call={takeSnapshot}
          loading={take.busy}
          reason={off ?? (by_hand_left === 0 ? t('snapshots.none_left') : null)}
          onClick={() =>
            // Why it failed was said where it was sent.
            void take.send({ params: { id } }).then(
              made => setTakenId(made.id),
              () => undefined,
            )
          }
        >
          {t('snapshots.take')}
        </VerifiedButton>
      </div>
    </>
  )
}
