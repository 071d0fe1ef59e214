import type { ImageVersion } from '@berth/contract/images'
import { formatImageSize } from '@berth/contract/sizes'
import { useTranslation } from 'react-i18next'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './VersionsCard.module.css'

/** The others are read on the part of the page that holds all. */
const SHOWN_MAX = 4

interface VersionsCardProps {
  /** The newest first. */
  versions: readonly ImageVersion[]
  onAll: () => void
}

/** The newest versions, and the way to all. */
export function VersionsCard({ versions, onAll }: VersionsCardProps) {
  const { t } = useTranslation('images')
  return (
    <Card
      title={t('detail.tabs.versions')}
      aside={<LinkButton onClick={onAll}>{t('detail.all_versions', { count: versions.length })}</LinkButton>}
    >
      <VersionList versions={versions.slice(0, SHOWN_MAX)} />
    </Card>
  )
}

/** Versions by their numbers: when, what was in them, how large. The first is the newest. */
export function VersionList({ versions }: { versions: readonly ImageVersion[] }) {
  const { t } = useTranslation('images')
  const format = useFormat()
  return (
    <ol className={classes.versions}>
      {versions.map(({ number, version_info, size, created_at }, index) => (
        <li key={number} className={classes.version}>
          <span className="mono">{number}</span>
          <span className={classes.what}>
            <span>
              {format.date(created_at)}
              {index === 0 && `, ${t('detail.newest')}`}
            </span>
            {version_info !== '' && <span className={classes.info}>{version_info}</span>}
          </span>
          <span className={classes.size}>{formatImageSize(size)}</span>
        </li>
      ))}
    </ol>
  )
}
