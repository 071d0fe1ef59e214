import type { ImageDetail } from '@berth/contract/images'
import { IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { ImageMark } from '../../images/ImageMark.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './ImageHead.module.css'

/** Which image it is, by whom, how much it is used, and its star. */
export function ImageHead({ image }: { image: ImageDetail }) {
  const { t } = useTranslation(['images', 'common'])
  const format = useFormat()
  const { type, name, author, deploys, deploys_week, updated_at } = image
  const isOwn = type === 'Custom'
  const facts = [
    type === 'Community' && t('detail.by', { name: author ?? t('nobody') }),
    type === 'Official' && t('detail.official'),
    isOwn && t('detail.own'),
    type === 'Community' && t('detail.deploys', { count: deploys, shown: format.number(deploys) }),
    deploys_week > 0 && t('detail.deploys_week', { count: deploys_week, shown: format.number(deploys_week) }),
    updated_at !== null && t('detail.updated', { date: format.date(updated_at) }),
  ].filter(Boolean)
  return (
    <header className={classes.head}>
      <nav className={classes.crumbs} aria-label={t('detail.crumbs')}>
        <Link to="/community-image">{t('common:titles.community-image')}</Link>
        {author !== null && !isOwn && (
          <>
            <IconChevronRight size={13} aria-hidden="true" />
            <span>{author}</span>
          </>
        )}
      </nav>
      <div className={classes.row}>
        <ImageMark image={image} />
        <div className={classes.who}>
          <h1 className={classes.name}>{name}</h1>
          <p className={classes.facts}>{facts.join(' · ')}</p>
        </div>
      </div>
    </header>
  )
}
