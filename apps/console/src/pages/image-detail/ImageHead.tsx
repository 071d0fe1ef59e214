import type { ImageDetail } from '@berth/contract/images'
import { reportImage, starImage, unstarImage } from '@berth/contract/own-images'
import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChevronRight, IconFlag, IconStar, IconStarFilled } from '@tabler/icons-react'
import { Link, useLocation } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { useSession } from '../../app/session/session.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { wayToSignIn } from '../../app/way-to-sign-in.ts'
import { ImageMark } from '../../images/ImageMark.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './ImageHead.module.css'

const ReportDialog = lazyPart(() => import('./ReportDialog.tsx').then(module => module.ReportDialog))

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
        {type === 'Community' && (
          <div className={classes.actions}>
            {image.custom_image_id === null && <Report image={image} />}
            <Star image={image} />
          </div>
        )}
      </div>
    </header>
  )
}

/** Says to the operator what is wrong with it. A guest signs in first, and comes back. */
function Report({ image }: { image: ImageDetail }) {
  const { t } = useTranslation('images')
  const { user } = useSession()
  const { href } = useLocation()
  const [opened, { open, close }] = useDisclosure()
  const shown = { variant: 'subtle', color: 'gray', leftSection: <IconFlag size={16} stroke={1.6} /> }
  if (!user) {
    return (
      <Button component="a" href={wayToSignIn('login', href)} {...shown}>
        {t('detail.report')}
      </Button>
    )
  }
  return (
    <>
      <VerifiedButton call={reportImage} onClick={open} {...shown}>
        {t('detail.report')}
      </VerifiedButton>
      <ReportDialog image={image} opened={opened} onClose={close} />
    </>
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
