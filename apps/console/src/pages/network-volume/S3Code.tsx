import { S3_TOOLS, type S3Facts, type S3Tool, s3Code } from '@berth/contract/s3-code'
import type { MadeS3Key, VolumeS3 } from '@berth/contract/volume-s3'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CodeSample } from '../../ui/CodeSample.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './S3Dialog.module.css'

const NAMES: Record<S3Tool, string> = {
  aws: 'aws',
  s3cmd: 's3cmd',
  rclone: 'rclone',
  javascript: 'JavaScript',
}
const HEAD_CHARS = 4

/** Commands that upload a folder. The secret is hidden in sight, and copied with them while it is known. */
export function S3Code({ facts, made }: { facts: VolumeS3; made: MadeS3Key | null }) {
  const { t } = useTranslation('volumes')
  const [tool, setTool] = useState<S3Tool>('aws')
  const secret = made?.secret_access_key ?? null
  const code = (secretAccessKey: string) => {
    const { endpoint, bucket, region, keys } = facts
    const accessKeyId = made?.access_key_id ?? keys[0]?.access_key_id ?? `<${t('s3.access_key')}>`
    const all: S3Facts = { endpoint: endpoint ?? '', bucket, region, accessKeyId, secretAccessKey }
    return s3Code(tool, all)
  }
  const hidden =
    secret === null ? `<${t('s3.secret')}>` : `${secret.slice(0, HEAD_CHARS)}…${made?.secret_end}`
  return (
    <section aria-label={t('s3.try')} className={classes.try}>
      <div className={classes.bar}>
        <h3>{t('s3.try')}</h3>
        <SegmentedFilter
          label={t('s3.tool')}
          value={tool}
          onChange={setTool}
          options={S3_TOOLS.map(value => ({ value, label: NAMES[value] }))}
        />
      </div>
      <CodeSample label={NAMES[tool]} code={code(hidden)} textOf={() => code(secret ?? hidden)} />
    </section>
  )
}
