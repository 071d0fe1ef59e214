import {
  type MadeS3Key,
  makeS3Key,
  revokeS3Key,
  rotateS3Key,
  S3_KEY_ACCESS,
  type S3Key,
  type S3KeyAccess,
  type S3State,
  type VolumeS3,
} from '@berth/contract/volume-s3'
import { Button } from '@mantine/core'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { useAsked } from '../../lists/use-asked.ts'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { toast } from '../../ui/toast.ts'
import classes from './S3Dialog.module.css'

const ConfirmDialog = lazyPart(() =>
  import('../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** A key that is made then reaches nothing, now or later, unless the operator changes something: why is said above. */
const NEVER_SERVED: ReadonlySet<S3State> = new Set(['off', 'not_files'])

interface S3KeysProps {
  volumeId: string
  facts: VolumeS3
  /** A secret is shown: to have saved it is what matters then. */
  isShowing: boolean
  /** A key is under way: what comes back must not be left behind. */
  onMaking: (isMaking: boolean) => void
  onMade: (made: MadeS3Key) => void
  onRevoked: (key: S3Key) => void
}

/** The keys of a volume: made, rotated, revoked. */
export function S3Keys({ volumeId, facts, isShowing, onMaking, onMade, onRevoked }: S3KeysProps) {
  const { t } = useTranslation('volumes')
  const [access, setAccess] = useState<S3KeyAccess>('read_write')
  const make = useChange(makeS3Key, { behind: true })
  const rotate = useChange(rotateS3Key, { behind: true })
  const revoke = useChange(revokeS3Key)
  const revoking = useAsked<S3Key>()
  const busy = make.busy || rotate.busy
  const show = (making: Promise<MadeS3Key>) => {
    onMaking(true)
    // Why it failed was said where it was sent.
    void making.then(onMade, () => undefined).finally(() => onMaking(false))
  }
  const named = (key: S3Key) => ({ params: { id: volumeId, access_key_id: key.access_key_id } })
  return (
    <section aria-label={t('s3.keys')} className={classes.keys}>
      <h3>{t('s3.keys')}</h3>
      {facts.keys.length === 0 && !NEVER_SERVED.has(facts.state) && (
        <p className={classes.quiet}>{t('s3.none')}</p>
      )}
      <ul>
        {facts.keys.map(key => (
          <li key={key.access_key_id}>
            <span className="mono">{key.access_key_id}</span>
            <KeyState of={key} />
            <span className={classes.buttons}>
              {key.ends_at === null && !NEVER_SERVED.has(facts.state) && (
                <VerifiedButton
                  call={rotateS3Key}
                  variant="default"
                  size="xs"
                  disabled={busy}
                  aria-label={t('s3.rotate_named', { key: key.access_key_id })}
                  onClick={() => show(rotate.send(named(key)))}
                >
                  {t('s3.rotate')}
                </VerifiedButton>
              )}
              <Button
                variant="default"
                size="xs"
                aria-label={t('s3.revoke_named', { key: key.access_key_id })}
                onClick={() => revoking.ask(key)}
              >
                {t('s3.revoke')}
              </Button>
            </span>
          </li>
        ))}
      </ul>
      <div className={classes.bar} ref={revoking.fallback}>
        {!NEVER_SERVED.has(facts.state) && (
          <>
            <SegmentedFilter
              label={t('s3.access')}
              value={access}
              onChange={setAccess}
              options={S3_KEY_ACCESS.map(value => ({ value, label: t(`s3.may.${value}`) }))}
            />
            <VerifiedButton
              call={makeS3Key}
              variant={isShowing ? 'default' : 'filled'}
              loading={make.busy}
              disabled={busy}
              onClick={() => show(make.send({ params: { id: volumeId }, body: { access } }))}
            >
              {t('s3.make')}
            </VerifiedButton>
          </>
        )}
      </div>
      <Suspense>
        {revoking.what && (
          <ConfirmDialog
            danger
            opened={revoking.opened}
            title={t('s3.confirm.title', { key: revoking.what.access_key_id })}
            confirmLabel={t('s3.revoke')}
            onConfirm={async () => {
              if (!revoking.what) return
              await revoke.send(named(revoking.what))
              onRevoked(revoking.what)
              toast.good(t('s3.confirm.done', { key: revoking.what.access_key_id }))
            }}
            onClose={revoking.close}
          >
            {t('s3.confirm.text')}
          </ConfirmDialog>
        )}
      </Suspense>
    </section>
  )
}

/** What a key may do, since when, and when and where from it was last used. */
function KeyState({ of: key }: { of: S3Key }) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const used =
    key.last_used_at === null
      ? t('s3.not_used')
      : t('s3.used', { when: format.moment(key.last_used_at), from: key.last_used_from ?? '' })
  const parts = [
    t(`s3.may.${key.access}`),
    t('s3.ends_with', { end: key.secret_end }),
    format.date(key.created_at),
    used,
    ...(key.ends_at === null ? [] : [t('s3.ends_at', { when: format.moment(key.ends_at) })]),
  ]
  return <span className={classes.quiet}>{parts.join(' · ')}</span>
}
