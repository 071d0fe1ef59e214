import { getVolumeS3, type MadeS3Key, type VolumeS3 } from '@berth/contract/volume-s3'
import type { Volume } from '@berth/contract/volumes'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { FormDialog } from '../../lists/FormDialog.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import { TechnicalDetail } from '../../ui/TechnicalDetail.tsx'
import { S3Code } from './S3Code.tsx'
import classes from './S3Dialog.module.css'
import { S3Keys } from './S3Keys.tsx'
import { S3Secret } from './S3Secret.tsx'

interface S3DialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/**
 * How a volume is reached by S3, and by which keys (R2.25, R3.11). While a secret is shown, only the dialog's own button
 * closes it: a secret that nobody saved could never be used.
 */
export function S3Dialog({ volume, opened, onClose }: S3DialogProps) {
  const { t } = useTranslation('volumes')
  const [made, setMade] = useState<MadeS3Key | null>(null)
  const [isMaking, setIsMaking] = useState(false)
  const s3 = useQuery(queryOf(getVolumeS3, { params: { id: volume.id } }))
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('s3.title', { name: volume.name })}
      size={640}
      stays={isMaking}
      closedInside={made !== null}
    >
      <Answer query={s3} data={s3.data} rows={6}>
        {facts => (
          <div className={classes.body}>
            <p className={classes.lead}>{t(volume.kind === 'objects' ? 'sharing.objects' : 's3.lead')}</p>
            <Facts facts={facts} made={made} />
            {made && <S3Secret made={made} facts={facts} />}
            {facts.state === 'served' && <S3Code facts={facts} made={made} />}
            <S3Keys
              volumeId={volume.id}
              facts={facts}
              isShowing={made !== null}
              onMaking={setIsMaking}
              onMade={setMade}
              // A secret that opens nothing any more need not be saved.
              onRevoked={({ access_key_id }) =>
                setMade(shown => (shown?.access_key_id === access_key_id ? null : shown))
              }
            />
            {made && (
              <div className={classes.end}>
                <span>{t('s3.reach')}</span>
                <Button onClick={onClose}>{t('s3.saved')}</Button>
              </div>
            )}
          </div>
        )}
      </Answer>
    </FormDialog>
  )
}

function Facts({ facts, made }: { facts: VolumeS3; made: MadeS3Key | null }) {
  const { t } = useTranslation('volumes')
  const { state, detail, endpoint, bucket, region } = facts
  const shown = [
    ['endpoint', endpoint],
    ['bucket', bucket],
    ['region', region],
    ['access_key', made?.access_key_id ?? null],
  ] as const
  return (
    <>
      {state !== 'served' && (
        <div>
          <p className={classes.warned}>{t(`s3.state.${state}`)}</p>
          <TechnicalDetail lines={[detail]} />
        </div>
      )}
      <dl className={classes.facts}>
        {shown.map(
          ([name, value]) =>
            value !== null && (
              <div key={name}>
                <dt>{t(`s3.${name}`)}</dt>
                <dd>
                  <CopyText mono value={value} label={t(`s3.${name}`)} />
                </dd>
              </div>
            ),
        )}
      </dl>
    </>
  )
}
