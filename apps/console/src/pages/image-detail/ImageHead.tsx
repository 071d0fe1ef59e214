import type { ImageDetail } from '@berth/contract/images'
import { starImage, unstarImage } from '@berth/contract/own-images'
import { Button } from '@mantine/core'
import { IconChevronRight, IconStar, IconStarFilled } from '@tabler/icons-react'
import { Link, useLocation } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { useSession } from '../../app/session/session.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { wayToSignIn } from '../../app/way-to-sign-in.ts'
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
        <Link to={isOwn ? '/my-images' : '/community-image'}>
          {t(isOwn ? 'common:titles.my-images' : 'common:titles.community-image')}
        </Link>
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
        {type === 'Community' && <Star image={image} />}
      </div>
    </header>
  )
}

/** A star, of which each account has one for an image. A guest signs in first, and comes back. */
function Star({ image: { id, stars, starred } }: { image: ImageDetail }) {
  const { t } = useTranslation('images')
  const format = useFormat()
  const { user } = useSession()
  const { href } = useLocation()
  const give = useChange(starImage)
  const takeBack = useChange(unstarImage)
  const label = t('detail.star', { shown: format.number(stars) })
  if (!user) {
    return (
      <Button
        component="a"
        href={wayToSignIn('login', href)}
        variant="default"
        leftSection={<IconStar size={16} stroke={1.6} />}
      >
        {label}
      </Button>
    )
  }
  const { send } = starred ? takeBack : give
  return (
    <VerifiedButton
      call={starred ? unstarImage : starImage}
      variant="default"
      aria-pressed={starred}
      loading={give.busy || takeBack.busy}
      leftSection={starred ? <IconStarFilled size={16} /> : <IconStar size={16} stroke={1.6} />}
      onClick={() => void send({ params: { id } }).catch(told)}
    >
      {label}
    </VerifiedButton>
  )
}
