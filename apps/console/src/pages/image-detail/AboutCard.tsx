import type { ImageDetail } from '@berth/contract/images'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../../api/queries.ts'
import { useImageWords } from '../../images/use-image-words.ts'
import { useRegionName } from '../../images/use-region-name.ts'
import { Card } from '../../ui/Card.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import classes from './AboutCard.module.css'

/** What an image needs, how large it is, where it is and which ports it opens. */
export function AboutCard({ image }: { image: ImageDetail }) {
  const { t } = useTranslation('images')
  const words = useImageWords()
  const regionName = useRegionName()
  const { data: settings } = useQuery(settingsQuery)
  const { min_vram_gb, min_disk_gb, size, version_info, kind, region_code, tags, image_reference } = image
  const storage = settings?.brand.image_storage_url ?? null
  const ports = words.ports(image)
  return (
    <Card title={t('about.title')}>
      <p className={classes.text}>{image.description}</p>
      <dl className={classes.facts}>
        <Fact name={t('about.needs')}>
          {size === 0
            ? words.vram(min_vram_gb)
            : t('about.needs_both', { vram: words.vram(min_vram_gb), disk: min_disk_gb })}
        </Fact>
        {/* It has none until it is made. */}
        <Fact name={t('about.size')}>{size === 0 ? '–' : words.size(size)}</Fact>
        {version_info !== '' && <Fact name={t('about.version_info')}>{version_info}</Fact>}
        <Fact name={t('about.kind')}>{t(`kinds.${kind}`)}</Fact>
        <Fact name={t('about.region')}>
          {region_code === null ? t('about.every_region') : regionName(region_code)}
        </Fact>
        <Fact name={t('about.ports')}>{ports === '' ? t('about.no_ports') : ports}</Fact>
        {tags.length > 0 && <Fact name={t('about.tags')}>{tags.map(words.tag).join(', ')}</Fact>}
      </dl>
      {image_reference !== null && (
        <div className={classes.reference}>
          <CopyText mono value={image_reference} label={t('about.reference')} />
        </div>
      )}
      {storage !== null && (
        <p className={classes.storage}>
          <a href={storage} target="_blank" rel="noreferrer">
            {t('about.storage')}
          </a>
        </p>
      )}
    </Card>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
