import { s3Env } from '@berth/contract/s3-code'
import type { MadeS3Key, VolumeS3 } from '@berth/contract/volume-s3'
import { Button } from '@mantine/core'
import { IconAlertTriangle, IconDownload } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { CopyText } from '../../ui/CopyText.tsx'
import classes from './S3Dialog.module.css'

/** The secret of a key that was just made, this once. */
export function S3Secret({ made, facts }: { made: MadeS3Key; facts: VolumeS3 }) {
  const { t } = useTranslation('volumes')
  const { secret_access_key: secret, access_key_id, secret_end } = made
  const { endpoint, region } = facts
  const env = s3Env({
    endpoint: endpoint ?? '',
    region,
    accessKeyId: access_key_id,
    secretAccessKey: secret,
  })
  return (
    <div className={classes.secret}>
      <section aria-label={t('s3.secret')}>
        <span className={classes.secretLabel}>{t('s3.secret')}</span>
        <CopyText mono value={secret} label={t('s3.secret')} />
      </section>
      <div className={classes.once}>
        <IconAlertTriangle size={18} aria-hidden="true" />
        <p role="status">{t('s3.once', { end: secret_end })}</p>
        <Button
          component="a"
          variant="default"
          size="xs"
          leftSection={<IconDownload size={14} aria-hidden="true" />}
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(env)}`}
          download=".env"
        >
          {t('s3.download')}
        </Button>
      </div>
    </div>
  )
}
